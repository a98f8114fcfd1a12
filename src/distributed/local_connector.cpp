// All-reduce between replicas of one process that share memory. Each rank owns a fixed part of every bucket. When a
// bucket is ready on all ranks, each rank sums its part over all arenas in a fixed order. It writes the sum to all
// arenas. The timing of the threads does not change the result.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "core/index.h"
#include "core/trace.h"
#include "distributed/connector.h"
#include "distributed/event_counts.h"
#include "distributed/parts.h"
#include "kernels/cpu/reduce.h"
#include "kernels/cpu/spin.h"

namespace dptrain::distributed {
namespace {

struct Shared {
  explicit Shared(int ranks_) : ranks(ranks_), arenas(at(ranks_)), gathered(2 * at(ranks_)) {}

  const int ranks;
  EventCounts counts;
  std::vector<float*> arenas;                       ///< per rank, set before the rank's first arrival
  std::vector<EventCounts::PaddedCounter> arrived;  ///< per bucket: arrivals of ranks over all steps
  EventCounts::PaddedCounter summed;                ///< parts summed, over all buckets and steps
  std::mutex attaching;                             ///< guards the size of `arrived`

  /// Inputs of all_gather by rank, in two alternating sets. Before a rank begins round g + 2, all ranks have arrived in
  /// round g + 1, so no rank still uses the set of round g.
  std::vector<std::vector<std::byte>> gathered;
  EventCounts::PaddedCounter inputs_written;
};

/// Sinks of several ranks are adjacent in memory, and each is written for every bucket.
class alignas(kernels::cpu::kCacheLinePairBytes) LocalSink final : public runtime::GradientSink {
 public:
  LocalSink(Shared& shared, int rank) : shared_(shared), rank_(rank) {}

  void attach(const plan::Plan& plan) { buckets_ = plan.buckets; }

  void begin(std::int64_t, bool) override {
    shared_.counts.throw_if_aborted();
    ++steps_;
    ready_ = summed_ = 0;
  }

  void bucket_ready(int bucket, backend::Stream&) override {
    if (bucket != ready_ || bucket >= static_cast<int>(buckets_.size()))
      throw Error(ErrorKind::kInternal,
                  fmt::format("bucket {} is ready, expected {} of {}", bucket, ready_, buckets_.size()));
    ++ready_;
    shared_.counts.throw_if_aborted();
    shared_.counts.signal(shared_.arrived[at(bucket)].count);
    // Sum every bucket that is ready on all ranks; the others wait for the next call.
    while (summed_ < ready_ && EventCounts::is_reached(shared_.arrived[at(summed_)].count, due(1))) sum_next();
  }

  void finish(backend::Stream&) override {
    if (ready_ != static_cast<int>(buckets_.size()))
      throw Error(ErrorKind::kInternal, fmt::format("{} buckets were ready, expected {}", ready_, buckets_.size()));
    while (summed_ < ready_) {
      {
        const trace::Span span("wait", "others' gradients of bucket", summed_);
        shared_.counts.wait(shared_.arrived[at(summed_)].count, due(1));
      }
      sum_next();
    }
    const trace::Span span("wait", "others' sums");
    shared_.counts.wait(shared_.summed.count, due(buckets_.size()));
  }

 private:
  /// The value of a counter that every rank advances `per_step` times a step, once all have done so in this step.
  std::uint64_t due(std::size_t per_step) const { return steps_ * per_step * at(shared_.ranks); }

  void sum_next() {
    const plan::Bucket part = part_of(buckets_[at(summed_)], rank_, shared_.ranks);
    const trace::Span span("all-reduce", "summing bucket", summed_);
    if (shared_.ranks > 1) kernels::cpu::sum_ranks(shared_.arenas.data(), shared_.ranks, part.begin, part.end);
    ++summed_;
    shared_.counts.signal(shared_.summed.count);
  }

  Shared& shared_;
  const int rank_;
  std::vector<plan::Bucket> buckets_;
  std::uint64_t steps_ = 0;  ///< number of steps begun
  int ready_ = 0;            ///< buckets of this step passed to bucket_ready()
  int summed_ = 0;           ///< buckets of this step whose part is summed
};

class LocalCollective final : public backend::Collective {
 public:
  LocalCollective(Shared& shared, int rank) : shared_(shared), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return shared_.ranks; }

  void all_gather(const void* mine, std::int64_t bytes, void* all, backend::Stream&) override {
    std::vector<std::byte>* set = &shared_.gathered[rounds_ % 2 * at(shared_.ranks)];
    set[rank_].assign(static_cast<const std::byte*>(mine), static_cast<const std::byte*>(mine) + bytes);
    ++rounds_;
    shared_.counts.throw_if_aborted();
    shared_.counts.signal(shared_.inputs_written.count);
    shared_.counts.wait(shared_.inputs_written.count, rounds_ * at(shared_.ranks));
    for (int r = 0; r < shared_.ranks; ++r) {
      if (static_cast<std::int64_t>(set[r].size()) != bytes)
        throw Error(ErrorKind::kInternal, fmt::format("rank {} passed {} bytes to a gather, rank {} passed {}", r,
                                                      set[r].size(), rank_, bytes));
      std::ranges::copy(set[r], static_cast<std::byte*>(all) + r * bytes);
    }
  }

 private:
  Shared& shared_;
  const int rank_;
  std::uint64_t rounds_ = 0;
};

class LocalConnector final : public runtime::Connector {
 public:
  explicit LocalConnector(int ranks) : shared_(ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      sinks_.emplace_back(shared_, rank);
      collectives_.emplace_back(shared_, rank);
    }
  }

  runtime::GradientSink& sink(int rank) override { return sinks_[at(rank)]; }
  backend::Collective* collective(int rank) override { return &collectives_[at(rank)]; }

  void attach(int rank, backend::Device&, backend::Stream&, float* gradients, const plan::Plan& plan) override {
    const std::lock_guard lock(shared_.attaching);
    if (shared_.arrived.empty()) shared_.arrived = std::vector<EventCounts::PaddedCounter>(plan.buckets.size());
    shared_.arenas[at(rank)] = gradients;
    sinks_[at(rank)].attach(plan);
  }

  void abort(const Error& why) noexcept override { shared_.counts.abort(why.what()); }

 private:
  Shared shared_;
  std::vector<LocalSink> sinks_;
  std::vector<LocalCollective> collectives_;
};

}  // namespace

std::unique_ptr<runtime::Connector> make_local(int ranks) { return std::make_unique<LocalConnector>(ranks); }

}  // namespace dptrain::distributed
