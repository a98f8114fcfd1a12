#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/index.h"
#include "core/trace.h"
#include "distributed/bucket_sum.h"
#include "distributed/connector.h"
#include "distributed/gather.h"
#include "distributed/lane_group.h"
#include "distributed/parts.h"
#include "distributed/process_sums.h"
#include "distributed/processes.h"
#include "kernels/cpu/reduce.h"

namespace dptrain::distributed {
namespace {

/// State shared by the lanes of this process. Exchanges own a reference, too: the communication thread may still report
/// the end of one after the lane that waited for it has ended.
struct Lanes {
  Lanes(const Seats& seats_, Processes& processes_)
      : seats(seats_), processes(processes_), group(seats_, processes_), arrived(at(group.lanes())) {}

  int first_rank() const { return seats.first_ranks[at(seats.process)]; }

  const Seats seats;
  Processes& processes;
  LaneGroup group;
  std::vector<plan::Bucket> buckets;             ///< set when all lanes are attached
  std::vector<std::shared_ptr<BucketSum>> sums;  ///< per bucket; only in the leader of its group
  std::uint64_t posted = 0;                      ///< number of sums posted over all steps; guarded by `posting`
  std::vector<std::uint64_t> arrived;            ///< per lane: buckets ready over all steps; guarded by `posting`
  std::mutex posting;

  // all_gather over several groups: each lane writes its input to its part of `given`, and the last lane posts it. Two
  // alternating sets, as in local.cpp.
  struct Round {
    std::string given;
    Gather::Result all;
  };
  Round rounds[2];
  std::mutex giving;
  std::atomic<std::uint64_t> gave = 0, gathered = 0;
};

/// In a group of all ranks, every lane sums its part of each bucket in the memory of all members. Otherwise the leader
/// of the group exchanges sums with other groups on its communication thread.
class ProcessSink final : public runtime::GradientSink {
 public:
  ProcessSink(Lanes& lanes, int lane) : lanes_(lanes), group_(lanes.group), lane_(lane) {}

  void begin(std::int64_t, bool) override {
    group_.throw_if_aborted();
    before_ = ++steps_ == 1 ? 0 : before_ + count();
    ready_ = summed_ = 0;
  }

  void bucket_ready(int bucket, backend::Stream&) override {
    if (bucket != ready_ || bucket >= count())
      throw Error(ErrorKind::kInternal, fmt::format("bucket {} is ready, expected {} of {}", bucket, ready_, count()));
    ++ready_;
    group_.throw_if_aborted();
    group_.signal_ready(lane_);
    if (!group_.is_all()) return post();
    // Sum every bucket that is ready on all members; the others wait for the next call.
    while (summed_ < ready_ && group_.all_ready(before_ + at(summed_ + 1))) sum_next();
  }

  void finish(backend::Stream&) override {
    if (ready_ != count())
      throw Error(ErrorKind::kInternal, fmt::format("{} buckets were ready, expected {}", ready_, count()));
    if (!group_.is_all()) {
      const Processes::Hurry hurry(lanes_.processes);
      return group_.wait_for_exchanged(before_ + at(count()));
    }
    while (summed_ < ready_) {
      {
        const trace::Span span("wait", "others' gradients of bucket", summed_);
        group_.wait_for_ready(before_ + at(summed_ + 1));
      }
      sum_next();
    }
    group_.wait_for_summed(before_ + at(count()));
  }

 private:
  int count() const { return static_cast<int>(lanes_.buckets.size()); }

  void sum_next() {
    const std::vector<float*>& arenas = group_.arenas();
    const plan::Bucket part = part_of(lanes_.buckets[at(summed_)], group_.member(lane_), group_.members());
    const trace::Span span("all-reduce", "summing bucket", summed_);
    if (group_.members() > 1) kernels::cpu::sum_ranks(arenas.data(), group_.members(), part.begin, part.end);
    ++summed_;
    group_.signal_summed(lane_);
  }

  /// Posts the sum when all lanes of this process have the bucket ready. The exchange itself waits for the rest of the
  /// group.
  void post() {
    if (!group_.is_leader()) return;
    const std::lock_guard lock(lanes_.posting);
    ++lanes_.arrived[at(lane_)];
    while (lanes_.posted < *std::ranges::min_element(lanes_.arrived))
      lanes_.processes.post(lanes_.sums[lanes_.posted++ % lanes_.sums.size()]);
  }

  Lanes& lanes_;
  LaneGroup& group_;
  const int lane_;
  std::uint64_t steps_ = 0;   ///< number of steps begun
  std::uint64_t before_ = 0;  ///< buckets of earlier steps
  int ready_ = 0;             ///< buckets of this step passed to bucket_ready()
  int summed_ = 0;            ///< buckets of this step whose part is summed
};

class ProcessCollective final : public backend::Collective {
 public:
  ProcessCollective(std::shared_ptr<Lanes> lanes, int lane) : lanes_(std::move(lanes)), lane_(lane) {}

  int rank() const override { return lanes_->first_rank() + lane_; }
  int size() const override { return lanes_->seats.ranks(); }

  void all_gather(const void* mine, std::int64_t bytes, void* all, backend::Stream&) override {
    const auto size = static_cast<std::size_t>(bytes);
    lanes_->group.throw_if_aborted();
    if (lanes_->group.is_all()) return lanes_->group.gather(lane_, mine, size, static_cast<std::byte*>(all));
    Lanes::Round& round = lanes_->rounds[rounds_ % 2];
    ++rounds_;
    const int lanes = lanes_->group.lanes();
    {
      const std::lock_guard lock(lanes_->giving);
      round.given.resize(size * at(lanes));
      std::memcpy(round.given.data() + size * at(lane_), mine, size);
    }
    if (lanes_->gave.fetch_add(1, std::memory_order_acq_rel) + 1 == rounds_ * at(lanes)) post(round);
    const Processes::Hurry hurry(lanes_->processes);
    lanes_->group.wait([&] { return lanes_->gathered.load() >= rounds_; });
    auto* to = static_cast<std::byte*>(all);
    for (int p = 0; p < lanes_->seats.processes(); ++p) {
      const std::size_t expected = size * at(lanes_->seats.first_ranks[at(p + 1)] - lanes_->seats.first_ranks[at(p)]);
      const std::string& from = round.all[at(p)];
      if (from.size() != expected)
        throw Error(ErrorKind::kInternal, fmt::format("{} gave {} bytes to a gather, expected {}",
                                                      lanes_->processes.name(p), from.size(), expected));
      std::memcpy(to, from.data(), from.size());
      to += from.size();
    }
  }

 private:
  void post(Lanes::Round& round) {
    lanes_->processes.post(std::make_shared<Gather>(std::move(round.given), kLanesHead, kLanesRest,
                                                    [lanes = lanes_, &round](Gather::Result all, const Error* failed) {
                                                      if (failed != nullptr) return lanes->group.abort(failed->what());
                                                      round.all = std::move(all);
                                                      lanes->gathered.fetch_add(1);
                                                      lanes->group.notify();
                                                    }));
  }

  const std::shared_ptr<Lanes> lanes_;
  const int lane_;
  std::uint64_t rounds_ = 0;
};

class ProcessConnector final : public runtime::Connector {
 public:
  ProcessConnector(const Seats& seats, Processes& processes) : lanes_(std::make_shared<Lanes>(seats, processes)) {
    for (int lane = 0; lane < lanes_->group.lanes(); ++lane) {
      sinks_.emplace_back(*lanes_, lane);
      collectives_.emplace_back(lanes_, lane);
    }
  }
  ~ProcessConnector() override { lanes_->sums.clear(); }  // they own references to the lanes
  ProcessConnector(const ProcessConnector&) = delete;
  ProcessConnector& operator=(const ProcessConnector&) = delete;

  runtime::GradientSink& sink(int lane) override { return sinks_[at(lane)]; }
  backend::Collective* collective(int lane) override { return &collectives_[at(lane)]; }

  std::unique_ptr<backend::Buffer> gradient_memory(int lane, backend::Device& device, std::size_t bytes) override {
    return lanes_->group.memory(lane, device, bytes);
  }

  void attach(int lane, backend::Device&, backend::Stream&, float* gradients, const plan::Plan& plan) override {
    LaneGroup& group = lanes_->group;
    if (!group.attach(lane, gradients)) return;
    lanes_->buckets = plan.buckets;
    for (std::size_t b = 0; b < plan.buckets.size() && !group.is_all() && group.is_leader(); ++b)
      lanes_->sums.push_back(std::make_shared<BucketSum>(
          group.groups(), plan.buckets[b], static_cast<int>(b), group.arenas(),
          [lanes = lanes_, b, step = std::uint64_t{0}]() mutable {
            const bool ready = lanes->group.all_ready(step * lanes->buckets.size() + b + 1);
            if (ready) ++step;
            return ready;
          },
          [lanes = lanes_](const Error* failed) {
            failed == nullptr ? lanes->group.signal_exchanged() : lanes->group.abort(failed->what());
          }));
  }

  /// After a failure, pending messages may still access the arenas that are about to be freed.
  void drain(int) noexcept override {
    if (aborted_) lanes_->processes.wait_for_quiet();
  }

  std::vector<runtime::StepSums> all_sums(std::vector<runtime::StepSums> of_lanes) override {
    return sums_of_all(lanes_->processes, of_lanes);
  }

  std::vector<std::uint64_t> all_numbers(std::vector<std::uint64_t> of_lanes) override {
    return numbers_of_all(lanes_->processes, of_lanes);
  }

  void abort(const Error& why) noexcept override {
    aborted_ = true;
    lanes_->group.abort(why.what());
    lanes_->processes.fail(why);
  }

 private:
  const std::shared_ptr<Lanes> lanes_;
  std::deque<ProcessSink> sinks_;
  std::deque<ProcessCollective> collectives_;
  std::atomic<bool> aborted_ = false;
};

}  // namespace

std::unique_ptr<runtime::Connector> make_processes(const Seats& seats, Processes& processes) {
  return std::make_unique<ProcessConnector>(seats, processes);
}

}  // namespace dptrain::distributed
