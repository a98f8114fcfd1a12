#include "distributed/lane_group.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/format.h"
#include "core/index.h"

namespace dptrain::distributed {
namespace {

class SharedBuffer final : public backend::Buffer {
 public:
  explicit SharedBuffer(std::shared_ptr<SharedMemory> memory) : memory_(std::move(memory)) {}
  void* data() const noexcept override { return memory_->data(); }
  std::size_t bytes() const noexcept override { return memory_->bytes(); }

 private:
  const std::shared_ptr<SharedMemory> memory_;
};

/// Throws if the memory, which was reachable when the processes joined, has gone.
std::shared_ptr<SharedMemory> reach(const SharedMemory::Handle& handle, const std::string& whose) {
  auto memory = SharedMemory::open(handle);
  if (memory == nullptr)
    throw Error(ErrorKind::kDevice, fmt::format("the memory of {} cannot be reached any more", whose));
  return memory;
}

}  // namespace

LaneGroup::LaneGroup(const Seats& seats, Processes& processes) : processes_(processes) {
  find_group(seats);
  own_.resize(at(lanes_));
  arenas_.resize(at(members_));
  make_board();
}

void LaneGroup::find_group(const Seats& seats) {
  const std::vector<int>& firsts = processes_.groups();
  for (std::size_t g = 0; g + 1 < firsts.size(); ++g) {
    groups_.first_ranks.push_back(seats.first_ranks[at(firsts[g])]);
    groups_.leaders.push_back(firsts[g]);
    if (seats.process < firsts[g] || seats.process >= firsts[g + 1]) continue;
    groups_.process = static_cast<int>(g);
    first_process_ = firsts[g];
    end_process_ = firsts[g + 1];
  }
  groups_.first_ranks.push_back(seats.ranks());
  is_leader_ = seats.process == first_process_;
  members_ = seats.first_ranks[at(end_process_)] - seats.first_ranks[at(first_process_)];
  own_first_ = seats.first_ranks[at(seats.process)] - seats.first_ranks[at(first_process_)];
  lanes_ = seats.first_ranks[at(seats.process + 1)] - seats.first_ranks[at(seats.process)];
}

/// The leader allocates the board. All processes gather, because gathers involve the whole run.
void LaneGroup::make_board() {
  const std::size_t lines = sizeof(Board), gathers = lines + at(members_) * sizeof(Line);
  SharedMemory::Handle made;
  if (is_leader_) {
    board_ = SharedMemory::make(gathers + (is_all() ? SharedGather::bytes(members_) : 0));
    made = board_->handle();
  }
  const std::vector<std::string> all = processes_.gather(SharedMemory::packed({made}));
  if (!is_leader_)
    board_ = reach(SharedMemory::unpacked(all[at(first_process_)]).front(), processes_.name(first_process_));
  processes_.gather("");  // all have opened the board, so the leader may release it
  auto& board = *board_->as<Board>();
  counts_.emplace(board.place);
  exchanged_ = &board.exchanged;
  lines_ = board_->as<Line>(lines);
  for (int lane = 0; is_all() && lane < lanes_; ++lane)
    gathers_.emplace_back(board_->data() + gathers, members_, member(lane));
}

std::unique_ptr<backend::Buffer> LaneGroup::memory(int lane, backend::Device& device, std::size_t bytes) {
  if (end_process_ - first_process_ == 1) return device.allocate(bytes);
  auto memory = SharedMemory::make(bytes);
  const std::lock_guard lock(attaching_);
  own_[at(lane)] = memory;
  return std::make_unique<SharedBuffer>(std::move(memory));
}

bool LaneGroup::attach(int lane, float* gradients) {
  const std::lock_guard lock(attaching_);
  arenas_[at(member(lane))] = gradients;
  if (++attached_ < lanes_) return false;
  reach_arenas();
  return true;
}

void LaneGroup::reach_arenas() {
  std::vector<SharedMemory::Handle> made;
  for (const auto& memory : own_)
    if (memory) made.push_back(memory->handle());
  const std::vector<std::string> all = processes_.gather(SharedMemory::packed(made));
  int member = 0;
  for (int p = first_process_; p < end_process_ && end_process_ - first_process_ > 1; ++p)
    for (const SharedMemory::Handle& handle : SharedMemory::unpacked(all[at(p)])) {
      if (p != processes_.process()) {
        theirs_.push_back(reach(handle, processes_.name(p)));
        arenas_[at(member)] = theirs_.back()->as<float>();
      }
      ++member;
    }
  own_.clear();
  processes_.gather("");  // every member has opened all memory before an owner may release it
}

void LaneGroup::signal_ready(int lane) { counts_->signal(lines_[member(lane)].ready); }
void LaneGroup::signal_summed(int lane) { counts_->signal(lines_[member(lane)].summed); }
void LaneGroup::signal_exchanged() { counts_->signal(*exchanged_); }

bool LaneGroup::all_reached(SharedCounter Line::*counter, std::uint64_t target) const {
  return std::all_of(lines_, lines_ + members_,
                     [&](const Line& line) { return SharedEventCounts::is_reached(line.*counter, target); });
}

bool LaneGroup::all_ready(std::uint64_t buckets) { return all_reached(&Line::ready, buckets); }

void LaneGroup::wait(const std::function<bool()>& ready) {
  counts_->wait(ready, [this] { throw_if_aborted(); });
}
void LaneGroup::wait_for_ready(std::uint64_t buckets) {
  wait([&] { return all_ready(buckets); });
}
void LaneGroup::wait_for_summed(std::uint64_t buckets) {
  wait([&] { return all_reached(&Line::summed, buckets); });
}
void LaneGroup::wait_for_exchanged(std::uint64_t buckets) {
  wait([&] { return SharedEventCounts::is_reached(*exchanged_, buckets); });
}

void LaneGroup::gather(int lane, const void* mine, std::size_t bytes, std::byte* all) {
  const auto place = [&](int member, std::size_t given) {
    if (given != bytes)
      throw Error(ErrorKind::kInternal,
                  fmt::format("rank {} gave {} bytes to a gather, expected {}", member, given, bytes));
    return all + at(member) * bytes;
  };
  gathers_[at(lane)].gather(mine, bytes, place, [this] { throw_if_aborted(); });
}

void LaneGroup::abort(const std::string& why) noexcept {
  {
    const std::lock_guard lock(why_mutex_);
    if (!aborted_.load()) why_ = why;
    aborted_.store(true);
  }
  counts_->notify();
}

void LaneGroup::throw_if_aborted() {
  if (aborted_.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(why_mutex_);
    throw Error(ErrorKind::kDevice, "stopped, because of " + why_);
  }
  try {
    processes_.throw_if_failed();
  } catch (const Error& why) {
    throw Error(ErrorKind::kDevice, fmt::format("stopped, because of {}", why.what()));
  }
}

}  // namespace dptrain::distributed
