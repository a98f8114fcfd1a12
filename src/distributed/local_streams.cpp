// All-reduce between replicas of one process whose devices share memory and run asynchronously: several on one GPU, or
// the emulator's. As in local.cpp each rank owns a part of every bucket and sums it over all arenas in a fixed order.
// Here the sums are queued on a communication stream of the rank. A thread waits only until the others have queued
// their work; events order the work itself.
//
// A rank records an event again only after every other rank has called hold() for its last record. The next record is
// part of a later step (or gather), which a rank begins only after all ranks have arrived in the previous one.

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "core/index.h"
#include "distributed/connector.h"
#include "distributed/event_counts.h"
#include "distributed/parts.h"

namespace dptrain::distributed {
namespace {

using EventPointer = std::unique_ptr<backend::Event>;

/// State of a rank that the others read. Its thread writes it; others read it after a counter has reached their target.
struct RankState {
  float* gradients = nullptr;
  std::vector<EventPointer> ready;  ///< per bucket: the rank's gradients are written
  EventPointer summed;              ///< the rank's parts of all buckets of a step are summed

  /// all_gather uses two alternating sets. In round g + 2 a rank overwrites its buffer of round g. Its stream has then
  /// waited for the round g + 1 events of all ranks, which follow their reads of round g.
  struct GatherSlot {
    std::unique_ptr<backend::Buffer> memory;
    std::int64_t bytes = 0;
    EventPointer written;
  } slots[2];
  std::vector<std::unique_ptr<backend::Buffer>> outgrown;  ///< kept because queued copies may use them
};

struct SharedStreams {
  explicit SharedStreams(int ranks_) : ranks(ranks_), rank_states(at(ranks_)), waits(at(ranks_)) {}

  void wait(int rank, const EventCounts::Counter& counter, std::uint64_t target) {
    waits[at(rank)].store(true, std::memory_order_relaxed);
    counts.wait(counter, target);
    waits[at(rank)].store(false, std::memory_order_relaxed);
  }

  const int ranks;
  EventCounts counts;
  std::vector<RankState> rank_states;
  std::vector<std::atomic<bool>> waits;       ///< per rank: its thread waits (for the watchdog)
  std::vector<EventCounts::Counter> arrived;  ///< per bucket: arrivals of ranks over all steps
  EventCounts::Counter queued = 0;            ///< ranks that queued all their parts, over all steps
  EventCounts::Counter inputs_written = 0;    ///< ranks that queued their input, over all gathers
  std::mutex attaching;                       ///< guards the size of `arrived`
};

class StreamSink final : public runtime::GradientSink {
 public:
  StreamSink(SharedStreams& shared, int rank) : shared_(shared), rank_(rank) {}

  void attach(backend::Device& device, float* gradients, const plan::Plan& plan) {
    device_ = &device;
    buckets_ = plan.buckets;
    communication_ = device.make_stream(true);
    RankState& rank_state = shared_.rank_states[at(rank_)];
    rank_state.gradients = gradients;
    rank_state.summed = device.make_event();
    for (std::size_t k = 0; k < buckets_.size(); ++k) rank_state.ready.push_back(device.make_event());
  }

  /// After a failure, queued sums may still write to all arenas.
  void drain() noexcept {
    try {
      if (communication_) communication_->synchronize();
    } catch (...) {  // the failure has already been reported
    }
  }
  void detach() noexcept { communication_.reset(); }

  void begin(std::int64_t, bool) override {
    shared_.counts.throw_if_aborted();
    ++steps_;
    ready_ = summed_ = 0;
  }

  void bucket_ready(int bucket, backend::Stream& compute) override {
    if (bucket != ready_ || bucket >= static_cast<int>(buckets_.size()))
      throw Error(ErrorKind::kInternal,
                  fmt::format("bucket {} is ready, expected {} of {}", bucket, ready_, buckets_.size()));
    ++ready_;
    shared_.counts.throw_if_aborted();
    shared_.rank_states[at(rank_)].ready[at(bucket)]->record(compute);
    shared_.counts.signal(shared_.arrived[at(bucket)]);
    while (summed_ < ready_ && EventCounts::is_reached(shared_.arrived[at(summed_)], due())) queue_sum();
  }

  void finish(backend::Stream& compute) override {
    if (ready_ != static_cast<int>(buckets_.size()))
      throw Error(ErrorKind::kInternal, fmt::format("{} buckets were ready, expected {}", ready_, buckets_.size()));
    while (summed_ < ready_) {
      shared_.wait(rank_, shared_.arrived[at(summed_)], due());
      queue_sum();
    }
    shared_.rank_states[at(rank_)].summed->record(*communication_);
    shared_.counts.signal(shared_.queued);
    shared_.wait(rank_, shared_.queued, due());
    for (RankState& rank_state : shared_.rank_states) rank_state.summed->hold(compute);
  }

 private:
  /// The value of a counter that every rank advances once a step, once all have done so in this step.
  std::uint64_t due() const { return steps_ * at(shared_.ranks); }

  void queue_sum() {
    std::vector<float*> arenas;
    for (RankState& rank_state : shared_.rank_states) {
      rank_state.ready[at(summed_)]->hold(*communication_);
      arenas.push_back(rank_state.gradients);
    }
    const plan::Bucket part = part_of(buckets_[at(summed_)], rank_, shared_.ranks);
    if (part.end > part.begin) device_->sum_ranks(arenas, part.begin, part.end, *communication_);
    ++summed_;
  }

  SharedStreams& shared_;
  const int rank_;
  backend::Device* device_ = nullptr;
  std::unique_ptr<backend::Stream> communication_;
  std::vector<plan::Bucket> buckets_;
  std::uint64_t steps_ = 0;  ///< number of steps begun
  int ready_ = 0;            ///< buckets of this step passed to bucket_ready()
  int summed_ = 0;           ///< buckets of this step whose sum is queued
};

class StreamCollective final : public backend::Collective {
 public:
  StreamCollective(SharedStreams& shared, int rank) : shared_(shared), rank_(rank) {}

  void attach(backend::Device& device) {
    device_ = &device;
    for (RankState::GatherSlot& slot : shared_.rank_states[at(rank_)].slots) slot.written = device.make_event();
  }

  int rank() const override { return rank_; }
  int size() const override { return shared_.ranks; }

  void all_gather(const void* mine, std::int64_t bytes, void* all, backend::Stream& stream) override {
    const std::size_t set = rounds_++ % 2;
    shared_.counts.throw_if_aborted();
    write_input(shared_.rank_states[at(rank_)].slots[set], mine, bytes, stream);
    shared_.counts.signal(shared_.inputs_written);
    shared_.wait(rank_, shared_.inputs_written, rounds_ * at(shared_.ranks));
    for (int r = 0; r < shared_.ranks; ++r) {
      const RankState::GatherSlot& slot = shared_.rank_states[at(r)].slots[set];
      if (slot.bytes != bytes)
        throw Error(ErrorKind::kInternal,
                    fmt::format("rank {} passed {} bytes to a gather, rank {} passed {}", r, slot.bytes, rank_, bytes));
      slot.written->hold(stream);
      device_->copy(static_cast<std::byte*>(all) + r * bytes, slot.memory->data(), static_cast<std::size_t>(bytes),
                    stream);
    }
  }

 private:
  void write_input(RankState::GatherSlot& slot, const void* mine, std::int64_t bytes, backend::Stream& stream) {
    const auto size = static_cast<std::size_t>(bytes);
    if (!slot.memory || slot.memory->bytes() < size) {
      if (slot.memory) shared_.rank_states[at(rank_)].outgrown.push_back(std::move(slot.memory));
      slot.memory = device_->allocate(size);
    }
    device_->copy(slot.memory->data(), mine, size, stream);
    slot.bytes = bytes;
    slot.written->record(stream);
  }

  SharedStreams& shared_;
  const int rank_;
  backend::Device* device_ = nullptr;
  std::uint64_t rounds_ = 0;
};

class StreamConnector final : public runtime::Connector {
 public:
  explicit StreamConnector(int ranks) : shared_(ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      sinks_.emplace_back(shared_, rank);
      collectives_.emplace_back(shared_, rank);
    }
  }

  runtime::GradientSink& sink(int rank) override { return sinks_[at(rank)]; }
  backend::Collective* collective(int rank) override { return &collectives_[at(rank)]; }

  void attach(int rank, backend::Device& device, backend::Stream&, float* gradients, const plan::Plan& plan) override {
    const std::lock_guard lock(shared_.attaching);
    if (shared_.arrived.empty()) shared_.arrived = std::vector<EventCounts::Counter>(plan.buckets.size());
    sinks_[at(rank)].attach(device, gradients, plan);
    collectives_[at(rank)].attach(device);
  }

  void drain(int rank) noexcept override { sinks_[at(rank)].drain(); }

  void detach(int rank) noexcept override {
    shared_.rank_states[at(rank)] = {};
    sinks_[at(rank)].detach();
  }

  bool waits(int rank) const noexcept override { return shared_.waits[at(rank)].load(std::memory_order_relaxed); }
  void abort(const Error& why) noexcept override { shared_.counts.abort(why.what()); }

 private:
  SharedStreams shared_;
  std::vector<StreamSink> sinks_;
  std::vector<StreamCollective> collectives_;
};

}  // namespace

std::unique_ptr<runtime::Connector> make_local_streams(int ranks) { return std::make_unique<StreamConnector>(ranks); }

}  // namespace dptrain::distributed
