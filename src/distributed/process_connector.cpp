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
#include "distributed/parts.h"
#include "distributed/process_sums.h"
#include "distributed/processes.h"
#include "distributed/shared_memory_group.h"
#include "kernels/cpu/reduce.h"

namespace dptrain::distributed {
namespace {

/// State shared by the ranks of this process. Exchanges also own a reference: the communication thread may report the
/// end of an exchange after the rank that waited for it has ended.
struct SharedState {
  SharedState(const RankLayout& rank_layout_, Processes& processes_)
      : rank_layout(rank_layout_),
        processes(processes_),
        group(rank_layout_, processes_),
        arrived(at(group.local_ranks())) {}

  int first_rank() const { return rank_layout.first_ranks[at(rank_layout.process)]; }

  const RankLayout rank_layout;
  Processes& processes;
  SharedMemoryGroup group;
  std::vector<plan::Bucket> buckets;             ///< set when all local ranks are attached
  std::vector<std::shared_ptr<BucketSum>> sums;  ///< per bucket; only in the leader of its group
  std::uint64_t posted = 0;                      ///< number of sums posted over all steps; guarded by `posting`
  std::vector<std::uint64_t> arrived;            ///< per local rank: buckets ready; guarded by `posting`
  std::mutex posting;

  // all_gather over several groups: each rank writes its input to its part of `inputs`, and the last rank of this
  // process posts it. Two alternating sets, as in local.cpp.
  struct Round {
    std::string inputs;
    Gather::Result all;
  };
  Round rounds[2];
  std::mutex input_mutex;
  std::atomic<std::uint64_t> inputs_written = 0, gathered = 0;
};

/// In a group of all ranks, each rank sums its part of each bucket in the memory of all members. Otherwise the leader
/// of the group exchanges sums with other groups on its communication thread.
class ProcessSink final : public runtime::GradientSink {
 public:
  ProcessSink(SharedState& shared, int local_rank) : shared_(shared), group_(shared.group), local_rank_(local_rank) {}

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
    group_.signal_ready(local_rank_);
    if (!group_.has_all_ranks()) return post();
    // Sum every bucket that is ready on all members; the others wait for the next call.
    while (summed_ < ready_ && group_.all_ready(before_ + at(summed_ + 1))) sum_next();
  }

  void finish(backend::Stream&) override {
    if (ready_ != count())
      throw Error(ErrorKind::kInternal, fmt::format("{} buckets were ready, expected {}", ready_, count()));
    if (!group_.has_all_ranks()) {
      const Processes::BusyPollScope busy_poll(shared_.processes);
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
  int count() const { return static_cast<int>(shared_.buckets.size()); }

  void sum_next() {
    const std::vector<float*>& arenas = group_.gradient_arenas();
    const plan::Bucket part = part_of(shared_.buckets[at(summed_)], group_.member(local_rank_), group_.members());
    const trace::Span span("all-reduce", "summing bucket", summed_);
    if (group_.members() > 1) kernels::cpu::sum_ranks(arenas.data(), group_.members(), part.begin, part.end);
    ++summed_;
    group_.signal_summed(local_rank_);
  }

  /// Posts the sum when the bucket is ready in all ranks of this process. The exchange waits for the rest of the group.
  void post() {
    if (!group_.is_leader()) return;
    const std::lock_guard lock(shared_.posting);
    ++shared_.arrived[at(local_rank_)];
    while (shared_.posted < *std::ranges::min_element(shared_.arrived))
      shared_.processes.post(shared_.sums[shared_.posted++ % shared_.sums.size()]);
  }

  SharedState& shared_;
  SharedMemoryGroup& group_;
  const int local_rank_;
  std::uint64_t steps_ = 0;   ///< number of steps begun
  std::uint64_t before_ = 0;  ///< buckets of earlier steps
  int ready_ = 0;             ///< buckets of this step passed to bucket_ready()
  int summed_ = 0;            ///< buckets of this step whose part is summed
};

class ProcessCollective final : public backend::Collective {
 public:
  ProcessCollective(std::shared_ptr<SharedState> shared, int local_rank)
      : shared_(std::move(shared)), local_rank_(local_rank) {}

  int rank() const override { return shared_->first_rank() + local_rank_; }
  int size() const override { return shared_->rank_layout.ranks(); }

  void all_gather(const void* mine, std::int64_t bytes, void* all, backend::Stream&) override {
    const auto size = static_cast<std::size_t>(bytes);
    shared_->group.throw_if_aborted();
    if (shared_->group.has_all_ranks())
      return shared_->group.gather(local_rank_, mine, size, static_cast<std::byte*>(all));
    SharedState::Round& round = shared_->rounds[rounds_ % 2];
    ++rounds_;
    const int local_ranks = shared_->group.local_ranks();
    {
      const std::lock_guard lock(shared_->input_mutex);
      round.inputs.resize(size * at(local_ranks));
      std::memcpy(round.inputs.data() + size * at(local_rank_), mine, size);
    }
    if (shared_->inputs_written.fetch_add(1, std::memory_order_acq_rel) + 1 == rounds_ * at(local_ranks)) post(round);
    const Processes::BusyPollScope busy_poll(shared_->processes);
    shared_->group.wait([&] { return shared_->gathered.load() >= rounds_; });
    auto* to = static_cast<std::byte*>(all);
    for (int p = 0; p < shared_->rank_layout.processes(); ++p) {
      const std::size_t expected =
          size * at(shared_->rank_layout.first_ranks[at(p + 1)] - shared_->rank_layout.first_ranks[at(p)]);
      const std::string& from = round.all[at(p)];
      if (from.size() != expected)
        throw Error(ErrorKind::kInternal, fmt::format("{} passed {} bytes to a gather, expected {}",
                                                      shared_->processes.name(p), from.size(), expected));
      std::memcpy(to, from.data(), from.size());
      to += from.size();
    }
  }

 private:
  void post(SharedState::Round& round) {
    shared_->processes.post(
        std::make_shared<Gather>(std::move(round.inputs), kAllGatherHead, kAllGatherRest,
                                 [shared = shared_, &round](Gather::Result all, const Error* failed) {
                                   if (failed != nullptr) return shared->group.abort(failed->what());
                                   round.all = std::move(all);
                                   shared->gathered.fetch_add(1);
                                   shared->group.notify();
                                 }));
  }

  const std::shared_ptr<SharedState> shared_;
  const int local_rank_;
  std::uint64_t rounds_ = 0;
};

class ProcessConnector final : public runtime::Connector {
 public:
  ProcessConnector(const RankLayout& rank_layout, Processes& processes)
      : shared_(std::make_shared<SharedState>(rank_layout, processes)) {
    for (int local_rank = 0; local_rank < shared_->group.local_ranks(); ++local_rank) {
      sinks_.emplace_back(*shared_, local_rank);
      collectives_.emplace_back(shared_, local_rank);
    }
  }
  ~ProcessConnector() override { shared_->sums.clear(); }  // the sums own references to shared_
  ProcessConnector(const ProcessConnector&) = delete;
  ProcessConnector& operator=(const ProcessConnector&) = delete;

  runtime::GradientSink& sink(int local_rank) override { return sinks_[at(local_rank)]; }
  backend::Collective* collective(int local_rank) override { return &collectives_[at(local_rank)]; }

  std::unique_ptr<backend::Buffer> gradient_memory(int local_rank, backend::Device& device,
                                                   std::size_t bytes) override {
    return shared_->group.allocate_gradients(local_rank, device, bytes);
  }

  void attach(int local_rank, backend::Device&, backend::Stream&, float* gradients, const plan::Plan& plan) override {
    SharedMemoryGroup& group = shared_->group;
    if (!group.attach(local_rank, gradients)) return;
    shared_->buckets = plan.buckets;
    for (std::size_t b = 0; b < plan.buckets.size() && !group.has_all_ranks() && group.is_leader(); ++b)
      shared_->sums.push_back(std::make_shared<BucketSum>(
          group.groups(), plan.buckets[b], static_cast<int>(b), group.gradient_arenas(),
          [shared = shared_, b, step = std::uint64_t{0}]() mutable {
            const bool ready = shared->group.all_ready(step * shared->buckets.size() + b + 1);
            if (ready) ++step;
            return ready;
          },
          [shared = shared_](const Error* failed) {
            failed == nullptr ? shared->group.signal_exchanged() : shared->group.abort(failed->what());
          }));
  }

  /// After a failure, pending messages may still access the arenas that are about to be freed.
  void drain(int) noexcept override {
    if (aborted_) shared_->processes.wait_until_drained();
  }

  std::vector<runtime::StepSums> all_sums(std::vector<runtime::StepSums> local_values) override {
    return sums_of_all(shared_->processes, local_values);
  }

  std::vector<std::uint64_t> all_numbers(std::vector<std::uint64_t> local_values) override {
    return numbers_of_all(shared_->processes, local_values);
  }

  void abort(const Error& why) noexcept override {
    aborted_ = true;
    shared_->group.abort(why.what());
    shared_->processes.fail(why);
  }

 private:
  const std::shared_ptr<SharedState> shared_;
  std::deque<ProcessSink> sinks_;
  std::deque<ProcessCollective> collectives_;
  std::atomic<bool> aborted_ = false;
};

}  // namespace

std::unique_ptr<runtime::Connector> make_processes(const RankLayout& rank_layout, Processes& processes) {
  return std::make_unique<ProcessConnector>(rank_layout, processes);
}

}  // namespace dptrain::distributed
