#include "distributed/shared_memory_group.h"

#include <algorithm>
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
std::shared_ptr<SharedMemory> open_or_throw(const SharedMemory::Handle& handle, const std::string& whose) {
  auto memory = SharedMemory::open(handle);
  if (memory == nullptr)
    throw Error(ErrorKind::kDevice, fmt::format("the memory of {} is no longer accessible", whose));
  return memory;
}

}  // namespace

SharedMemoryGroup::SharedMemoryGroup(const RankLayout& rank_layout, Processes& processes) : processes_(processes) {
  find_group(rank_layout);
  own_memory_.resize(at(local_ranks_));
  arenas_.resize(at(members_));
  make_shared_memory();
}

void SharedMemoryGroup::find_group(const RankLayout& rank_layout) {
  const std::vector<int>& firsts = processes_.groups();
  for (std::size_t g = 0; g + 1 < firsts.size(); ++g) {
    groups_.first_ranks.push_back(rank_layout.first_ranks[at(firsts[g])]);
    groups_.leaders.push_back(firsts[g]);
    if (rank_layout.process < firsts[g] || rank_layout.process >= firsts[g + 1]) continue;
    groups_.process = static_cast<int>(g);
    first_process_ = firsts[g];
    end_process_ = firsts[g + 1];
  }
  groups_.first_ranks.push_back(rank_layout.ranks());
  is_leader_ = rank_layout.process == first_process_;
  members_ = rank_layout.first_ranks[at(end_process_)] - rank_layout.first_ranks[at(first_process_)];
  own_first_ = rank_layout.first_ranks[at(rank_layout.process)] - rank_layout.first_ranks[at(first_process_)];
  local_ranks_ =
      rank_layout.first_ranks[at(rank_layout.process + 1)] - rank_layout.first_ranks[at(rank_layout.process)];
}

/// The leader allocates the shared memory. All processes gather, because gathers involve the whole run.
void SharedMemoryGroup::make_shared_memory() {
  const std::size_t lines = sizeof(SharedHeader), gathers = lines + at(members_) * sizeof(RankCounters);
  SharedMemory::Handle made;
  if (is_leader_) {
    shared_memory_ = SharedMemory::make(gathers + (has_all_ranks() ? SharedGather::bytes(members_) : 0));
    made = shared_memory_->handle();
  }
  const std::vector<std::string> all = processes_.gather(SharedMemory::to_bytes({made}));
  if (!is_leader_)
    shared_memory_ =
        open_or_throw(SharedMemory::from_bytes(all[at(first_process_)]).front(), processes_.name(first_process_));
  processes_.gather("");  // all have opened the shared memory, so the leader may release it
  auto& header = *shared_memory_->as<SharedHeader>();
  counts_.emplace(header.place);
  exchanged_ = &header.exchanged;
  rank_counters_ = shared_memory_->as<RankCounters>(lines);
  for (int local_rank = 0; has_all_ranks() && local_rank < local_ranks_; ++local_rank)
    gathers_.emplace_back(shared_memory_->data() + gathers, members_, member(local_rank));
}

std::unique_ptr<backend::Buffer> SharedMemoryGroup::allocate_gradients(int local_rank, backend::Device& device,
                                                                       std::size_t bytes) {
  if (end_process_ - first_process_ == 1) return device.allocate(bytes);
  auto memory = SharedMemory::make(bytes);
  const std::lock_guard lock(attaching_);
  own_memory_[at(local_rank)] = memory;
  return std::make_unique<SharedBuffer>(std::move(memory));
}

bool SharedMemoryGroup::attach(int local_rank, float* gradients) {
  const std::lock_guard lock(attaching_);
  arenas_[at(member(local_rank))] = gradients;
  if (++attached_ < local_ranks_) return false;
  open_peer_arenas();
  return true;
}

void SharedMemoryGroup::open_peer_arenas() {
  std::vector<SharedMemory::Handle> made;
  for (const auto& memory : own_memory_)
    if (memory) made.push_back(memory->handle());
  const std::vector<std::string> all = processes_.gather(SharedMemory::to_bytes(made));
  int member = 0;
  for (int p = first_process_; p < end_process_ && end_process_ - first_process_ > 1; ++p)
    for (const SharedMemory::Handle& handle : SharedMemory::from_bytes(all[at(p)])) {
      if (p != processes_.process()) {
        peer_memory_.push_back(open_or_throw(handle, processes_.name(p)));
        arenas_[at(member)] = peer_memory_.back()->as<float>();
      }
      ++member;
    }
  own_memory_.clear();
  processes_.gather("");  // every member has opened all memory before an owner may release it
}

void SharedMemoryGroup::signal_ready(int local_rank) { counts_->signal(rank_counters_[member(local_rank)].ready); }
void SharedMemoryGroup::signal_summed(int local_rank) { counts_->signal(rank_counters_[member(local_rank)].summed); }
void SharedMemoryGroup::signal_exchanged() { counts_->signal(*exchanged_); }

bool SharedMemoryGroup::all_reached(SharedCounter RankCounters::*counter, std::uint64_t target) const {
  return std::all_of(rank_counters_, rank_counters_ + members_,
                     [&](const RankCounters& line) { return SharedEventCounts::is_reached(line.*counter, target); });
}

bool SharedMemoryGroup::all_ready(std::uint64_t buckets) { return all_reached(&RankCounters::ready, buckets); }

void SharedMemoryGroup::wait(const std::function<bool()>& ready) {
  counts_->wait(ready, [this] { throw_if_aborted(); });
}
void SharedMemoryGroup::wait_for_ready(std::uint64_t buckets) {
  wait([&] { return all_ready(buckets); });
}
void SharedMemoryGroup::wait_for_summed(std::uint64_t buckets) {
  wait([&] { return all_reached(&RankCounters::summed, buckets); });
}
void SharedMemoryGroup::wait_for_exchanged(std::uint64_t buckets) {
  wait([&] { return SharedEventCounts::is_reached(*exchanged_, buckets); });
}

void SharedMemoryGroup::gather(int local_rank, const void* mine, std::size_t bytes, std::byte* all) {
  const auto place = [&](int member, std::size_t given) {
    if (given != bytes)
      throw Error(ErrorKind::kInternal,
                  fmt::format("rank {} passed {} bytes to a gather, expected {}", member, given, bytes));
    return all + at(member) * bytes;
  };
  gathers_[at(local_rank)].gather(mine, bytes, place, [this] { throw_if_aborted(); });
}

void SharedMemoryGroup::abort(const std::string& why) noexcept {
  {
    const std::lock_guard lock(why_mutex_);
    if (!aborted_.load()) why_ = why;
    aborted_.store(true);
  }
  counts_->notify();
}

void SharedMemoryGroup::throw_if_aborted() {
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
