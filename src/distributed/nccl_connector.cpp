// Buckets are summed in place on a communication stream of each rank, in the order in which backward completes them.
// The plan fixes that order for all ranks. The communication stream waits for an event after a bucket's gradients, the
// compute stream for an event after the last sum.
//
// Gathers within a step (synchronized normalization) use their own communicator on the compute stream, so they wait for
// no bucket and switch no stream. Collectives of both communicators may run at once. NCCL then requires the same order
// of calls on all ranks, which one thread per rank and the plan ensure, and free multiprocessors for both. Gathers have
// a few kilobytes and use few thread blocks.
//
// While a collective on a GPU waits for another rank, the thread of that rank must not load kernels. The driver loads a
// kernel at its first launch and may wait for idle GPUs while it holds a lock: a deadlock. NCCL itself maps memory in
// the first collective of a communicator. Ranks therefore pass a barrier with empty streams before the first
// collective. A step that may load kernels has a barrier before every collective, and the host waits for the result.
//
// Recorded steps contain the collectives of both communicators. The communication stream is forked from the compute
// stream and joined to it. NCCL requires that all ranks record a collective or none, and launch such recordings
// together. Recording maps memory, so ranks pass a barrier before and after.

#include "distributed/nccl_connector.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/index.h"
#include "distributed/event_counts.h"
#include "distributed/gather.h"
#include "distributed/nccl_communicator.h"
#include "distributed/parts.h"
#include "distributed/process_sums.h"

namespace dptrain::distributed {
namespace {

/// Barrier of all ranks: first those of this process, then the processes. Pending exchanges share its ownership.
class RankBarrier : public std::enable_shared_from_this<RankBarrier> {
 public:
  RankBarrier(int local_ranks, Processes* processes) : local_ranks_(local_ranks), processes_(processes) {}

  EventCounts& counts() { return counts_; }

  /// Arrives at the `number`-th barrier, counted from 1, without waiting for the others (all_arrived).
  void arrive(std::uint64_t number) {
    if (arrivals_.fetch_add(1, std::memory_order_acq_rel) + 1 < number * at(local_ranks_)) return;
    if (processes_ == nullptr) return counts_.signal(released_);
    processes_->post(std::make_shared<Gather>("", kAllGatherHead, kAllGatherRest,
                                              [self = shared_from_this()](Gather::Result, const Error* failed) {
                                                if (failed == nullptr) self->counts_.signal(self->released_);
                                              }));
  }
  bool all_arrived(std::uint64_t number) const { return EventCounts::is_reached(released_, number); }

  bool is_whole() const { return processes_ == nullptr; }  ///< whether this process has all ranks
  /// Called before the rank arrives at a barrier; all ranks see it after that barrier. Permanent.
  void cannot_record(int rank) {
    int first = without_recording_.load();
    while (rank < first && !without_recording_.compare_exchange_weak(first, rank)) {
    }
  }
  std::optional<int> first_without_recording() const {
    const int first = without_recording_.load();
    return first == kNoRank ? std::nullopt : std::optional(first);
  }

 private:
  static constexpr int kNoRank = std::numeric_limits<int>::max();
  const int local_ranks_;
  Processes* const processes_;
  EventCounts counts_;
  EventCounts::Counter arrivals_ = 0, released_ = 0;
  std::atomic<int> without_recording_ = kNoRank;
};

/// Thread blocks of a gather; each occupies a streaming multiprocessor.
constexpr int kGatherBlocks = 4;

/// NCCL ids of both communicators.
struct Ids {
  nccl::UniqueId sums{}, gathers{};
};

/// Sink and collective of one rank in one class, because one thread calls both in one order.
class NcclRank final : public runtime::GradientSink, public backend::Collective {
 public:
  NcclRank(const nccl::Api& api, RankBarrier& barrier, const NcclOptions& options, int rank, int ranks)
      : counts_(barrier.counts()),
        barrier_(barrier),
        options_(options),
        rank_(rank),
        ranks_(ranks),
        sums_(api, counts_, rank, ranks),
        gathers_(api, counts_, rank, ranks) {}

  /// Called before the first collective.
  void set_report(const std::function<std::string()>& report) {
    for (nccl::Communicator* each : both()) each->set_report(report);
  }
  // Any thread.
  bool waits() const { return sums_.waits() || gathers_.waits(); }
  std::int64_t calls() const { return sums_.calls() + gathers_.calls(); }
  void abort() noexcept {
    for (nccl::Communicator* each : both()) each->abort();
  }

  void attach(backend::Device& device, backend::Stream& compute, float* gradients, const plan::Plan& plan,
              const Ids& ids) {
    gradients_ = gradients;
    buckets_ = plan.buckets;
    trainable_end_ = plan.trainable_end;
    device_ = &device;
    stream_ = device.make_stream(true);
    computed_ = device.make_event();
    communicated_ = device.make_event();
    expect_progress(options_.first_step_seconds);
    sums_.open(ids.sums);
    gathers_.open(ids.gathers, kGatherBlocks);
    compute_ = &compute;
    if (options_.tree_order) allocate_gather_buffer();
    if (options_.sums_in_bfloat16) allocate_bfloat16_buffer();
    for (backend::Stream* stream : {compute_, stream_.get()}) stream->set_watcher([this] { poll(); });
    connect(device);
    relax();
  }

  /// Called on all ranks at once. After an abort, no queued work can still run.
  void drain() noexcept {
    try {
      for (backend::Stream* stream : {compute_, stream_.get()})
        if (stream != nullptr) stream->set_watcher({});
      for (nccl::Communicator* each : both()) each->close();
      if (stream_) stream_->synchronize();
    } catch (...) {  // the failure has already been reported
    }
  }
  void detach() noexcept {
    computed_.reset();
    communicated_.reset();
    exchange_buffer_.reset();
    stream_.reset();
    compute_ = nullptr;
  }

  void begin(std::int64_t, bool may_load_kernels) override {
    counts_.throw_if_aborted();
    progress();
    in_step_ = true;
    may_load_kernels_ = may_load_kernels;
    ready_ = 0;
  }

  void bucket_ready(int bucket, backend::Stream& compute) override {
    if (bucket != ready_ || bucket >= static_cast<int>(buckets_.size()))
      throw Error(ErrorKind::kInternal,
                  fmt::format("bucket {} is ready, expected {} of {}", bucket, ready_, buckets_.size()));
    ++ready_;
    if (!may_load_kernels_) sum(bucket, compute);
  }

  void finish(backend::Stream& compute) override {
    if (ready_ != static_cast<int>(buckets_.size()))
      throw Error(ErrorKind::kInternal, fmt::format("{} buckets were ready, expected {}", ready_, buckets_.size()));
    if (may_load_kernels_) {
      barrier(compute);
      for (int bucket = 0; bucket < ready_; ++bucket) sum(bucket, compute);
      stream_->synchronize();
    }
    progress();
    if (recording_) {  // join the streams even if there were no sums
      computed_->record(compute);
      computed_->hold(*stream_);
    }
    communicated_->record(*stream_);
    communicated_->hold(compute);
  }

  void end(bool idle) override {
    first_done_ = true;
    if (!idle) return progress();
    relax();
    in_step_ = false;
  }

  bool records() const override { return barrier_.is_whole() && !options_.tree_order; }

  void begin_recording(backend::Stream& compute) override {
    begin(0, false);
    barrier(compute);
    recording_ = true;
    for (nccl::Communicator* each : both()) each->begin_recording();
  }

  std::optional<int> end_recording(bool recorded, backend::Stream& compute) override {
    recording_ = false;
    for (nccl::Communicator* each : both()) each->end_recording();
    if (!recorded) barrier_.cannot_record(rank_);
    progress();
    barrier(compute);
    return barrier_.first_without_recording();
  }

  void replay() override {
    ready_ = static_cast<int>(buckets_.size());
    last_ = &sums_;
    for (nccl::Communicator* each : both()) each->replay("replay of a recorded step");
  }

  int rank() const override { return rank_; }
  int size() const override { return ranks_; }

  void all_gather(const void* mine, std::int64_t bytes, void* all, backend::Stream& stream) override {
    if (in_step_) progress();
    if (may_load_kernels_) barrier(stream);
    last_ = &gathers_;
    gathers_.gather(mine, bytes, all, stream.native(), fmt::format("gather of {} bytes", bytes));
    if (may_load_kernels_) stream.synchronize();
  }

 private:
  void sum(int bucket, backend::Stream& compute) {
    const auto [first, last] = buckets_[at(bucket)];
    if (first == last) return;
    progress();
    last_ = &sums_;
    computed_->record(compute);
    computed_->hold(*stream_);
    const std::string which = fmt::format("bucket {} of {}", bucket, buckets_.size());
    if (options_.tree_order) return gather_and_add(gradients_ + first, last - first, "gather of " + which);
    const std::string what = "all-reduce of " + which;
    const std::int64_t exact = options_.sums_in_bfloat16 ? std::clamp(trainable_end_, first, last) : first;
    if (exact > first) sum_rounded(gradients_ + first, exact - first, what);
    if (exact < last) sums_.sum(gradients_ + exact, last - exact, nccl::kFloat32, stream_->native(), what);
  }

  void sum_rounded(float* values, std::int64_t n, const std::string& what) {
    device_->from_float(values, exchange_buffer_->data(), DType::kBf16, n, *stream_);
    sums_.sum(exchange_buffer_->data(), n, nccl::kBfloat16, stream_->native(), what + " in bfloat16");
    device_->to_float(exchange_buffer_->data(), DType::kBf16, values, n, *stream_);
  }

  void gather_and_add(float* values, std::int64_t n, const std::string& what) {
    const auto bytes = static_cast<std::size_t>(n) * sizeof(float);
    sums_.gather(values, static_cast<std::int64_t>(bytes), exchange_buffer_->data(), stream_->native(), what);
    device_->sum_ranks(parts(n), 0, n, *stream_);
    device_->copy(values, exchange_buffer_->data(), bytes, *stream_);
  }

  /// Divides the workspace into n floats per rank.
  std::vector<float*> parts(std::int64_t n) const {
    std::vector<float*> all;
    for (int rank = 0; rank < ranks_; ++rank) all.push_back(exchange_buffer_->as<float>() + rank * n);
    return all;
  }

  std::int64_t largest_bucket() const {
    std::int64_t largest = kLineFloats;
    for (const plan::Bucket& bucket : buckets_) largest = std::max(largest, bucket.end - bucket.begin);
    return largest;
  }

  /// Also loads the kernels that are launched between collectives, while no collective runs: for parts aligned to four
  /// floats and for others.
  void allocate_gather_buffer() {
    exchange_buffer_ = device_->allocate(static_cast<std::size_t>(largest_bucket() * ranks_) * sizeof(float));
    for (const std::int64_t n : {kLineFloats, kLineFloats - 1}) device_->sum_ranks(parts(n), 0, n, *stream_);
    device_->copy(exchange_buffer_->as<float>(), exchange_buffer_->as<float>() + kLineFloats, sizeof(float), *stream_);
    stream_->synchronize();
  }

  /// Also loads the kernels, as allocate_gather_buffer() does.
  void allocate_bfloat16_buffer() {
    const auto n = static_cast<std::size_t>(largest_bucket());
    exchange_buffer_ = device_->allocate(n * size_of(DType::kBf16));
    const auto buffer = device_->allocate(n * sizeof(float));
    for (const std::int64_t some : {kLineFloats, kLineFloats - 1}) {
      device_->from_float(buffer->as<float>(), exchange_buffer_->data(), DType::kBf16, some, *stream_);
      device_->to_float(exchange_buffer_->data(), DType::kBf16, buffer->as<float>(), some, *stream_);
    }
    stream_->synchronize();
  }

  /// Runs each collective once while the GPUs are otherwise idle.
  void connect(backend::Device& device) {
    const auto buffer = device.allocate(static_cast<std::size_t>(ranks_ + 1) * sizeof(float));
    auto* const values = buffer->as<float>();
    barrier(*compute_);
    sums_.sum(values, 1, options_.sums_in_bfloat16 ? nccl::kBfloat16 : nccl::kFloat32, stream_->native(),
              "first all-reduce");
    sums_.gather(values, sizeof(float), values + 1, stream_->native(), "first gather");
    stream_->synchronize();
    barrier(*compute_);
    gathers_.gather(values, sizeof(float), values + 1, compute_->native(), "first gather on the compute stream");
    compute_->synchronize();
  }

  /// Synchronizes the stream and waits until all ranks have done so.
  void barrier(backend::Stream& stream) {
    stream.synchronize();
    barrier_.arrive(++barriers_);
    sums_.wait("barrier of the replicas", [&] { return barrier_.all_arrived(barriers_); });
  }

  double limit() const { return first_done_ ? options_.watchdog_seconds : options_.first_step_seconds; }
  /// Restarts the deadline.
  void progress() { expect_progress(limit()); }
  void expect_progress(double seconds) {
    for (nccl::Communicator* each : both()) each->expect_progress(seconds);
  }
  void relax() {
    for (nccl::Communicator* each : both()) each->relax();
  }
  /// Checks both communicators for errors. A missed deadline is reported for the last collective.
  void poll() {
    (last_ == &sums_ ? gathers_ : sums_).check_errors();
    last_->poll();
  }
  std::array<nccl::Communicator*, 2> both() { return {&sums_, &gathers_}; }

  EventCounts& counts_;
  RankBarrier& barrier_;
  const NcclOptions options_;
  const int rank_, ranks_;
  nccl::Communicator sums_, gathers_;
  nccl::Communicator* last_ = &sums_;        ///< the communicator called last
  std::unique_ptr<backend::Stream> stream_;  ///< communication stream
  std::unique_ptr<backend::Event> computed_, communicated_;
  backend::Device* device_ = nullptr;
  std::unique_ptr<backend::Buffer> exchange_buffer_;  ///< workspace with tree_order, or a bucket in bfloat16
  backend::Stream* compute_ = nullptr;
  float* gradients_ = nullptr;
  std::vector<plan::Bucket> buckets_;
  std::int64_t trainable_end_ = 0;  ///< end of the trainable gradients; statistics follow
  int ready_ = 0;                   ///< buckets of this step passed to bucket_ready()
  std::uint64_t barriers_ = 0;
  bool may_load_kernels_ = true;  ///< as StepInputs::may_load_kernels
  bool recording_ = false;
  bool in_step_ = false;
  bool first_done_ = false;
};

class NcclConnector final : public runtime::Connector {
 public:
  /// `peers`: null if this process is the only one.
  NcclConnector(int local_ranks, const NcclOptions& options, const NcclProcesses* peers, const nccl::Api& api)
      : api_(api),
        processes_(peers != nullptr ? &peers->processes : nullptr),
        first_rank_(peers != nullptr ? peers->rank_layout.first_ranks[at(peers->rank_layout.process)] : 0),
        barrier_(std::make_shared<RankBarrier>(local_ranks, processes_)) {
    if (processes_ == nullptr || processes_->is_first())
      for (nccl::UniqueId* id : {&ids_.sums, &ids_.gathers}) make_id(*id);
    if (processes_ != nullptr)
      for (nccl::UniqueId* id : {&ids_.sums, &ids_.gathers}) {
        const std::string same = processes_->broadcast({id->internal, sizeof(id->internal)});
        std::memcpy(id->internal, same.data(), sizeof(id->internal));
      }
    const int ranks = peers != nullptr ? peers->rank_layout.ranks() : local_ranks;
    for (int local_rank = 0; local_rank < local_ranks; ++local_rank) {
      ranks_.emplace_back(api_, *barrier_, options, first_rank_ + local_rank, ranks);
      ranks_.back().set_report([this] { return progress(); });
    }
    if (processes_ != nullptr) processes_->on_failure([this](const Error& why) { stop(why); });
  }
  ~NcclConnector() override {
    if (processes_ != nullptr) processes_->on_failure({});
  }
  NcclConnector(const NcclConnector&) = delete;
  NcclConnector& operator=(const NcclConnector&) = delete;

  runtime::GradientSink& sink(int local_rank) override { return ranks_[at(local_rank)]; }
  backend::Collective* collective(int local_rank) override { return &ranks_[at(local_rank)]; }

  void attach(int local_rank, backend::Device& device, backend::Stream& compute, float* gradients,
              const plan::Plan& plan) override {
    ranks_[at(local_rank)].attach(device, compute, gradients, plan, ids_);
  }
  void drain(int local_rank) noexcept override { ranks_[at(local_rank)].drain(); }
  void detach(int local_rank) noexcept override { ranks_[at(local_rank)].detach(); }

  bool waits(int local_rank) const noexcept override { return ranks_[at(local_rank)].waits(); }

  std::vector<runtime::StepSums> all_sums(std::vector<runtime::StepSums> local_values) override {
    return processes_ == nullptr ? std::move(local_values) : sums_of_all(*processes_, local_values);
  }

  std::vector<std::uint64_t> all_numbers(std::vector<std::uint64_t> local_values) override {
    return processes_ == nullptr ? std::move(local_values) : numbers_of_all(*processes_, local_values);
  }

  void abort(const Error& why) noexcept override {
    stop(why);
    if (processes_ != nullptr) processes_->fail(why);
  }

 private:
  void make_id(nccl::UniqueId& id) const {
    if (const nccl::Result result = api_.get_unique_id(&id); result != nccl::kSuccess)
      throw Error(ErrorKind::kDevice, fmt::format("NCCL cannot start: {}; last error: {}", api_.error_string(result),
                                                  api_.last_error(nullptr)));
  }

  /// Aborts the ranks of this process.
  void stop(const Error& why) noexcept {
    barrier_->counts().abort(why.what());  // first, so that a rank whose communicator is aborted throws the reason
    for (NcclRank& rank : ranks_) rank.abort();
  }

  std::string progress() {
    std::string text = "calls so far:";
    for (int local_rank = 0; local_rank < static_cast<int>(ranks_.size()); ++local_rank)
      text += fmt::format("{} replica {} {}", local_rank == 0 ? "" : ",", first_rank_ + local_rank,
                          ranks_[at(local_rank)].calls());
    return text;
  }

  const nccl::Api api_;
  Processes* const processes_;
  const int first_rank_;
  const std::shared_ptr<RankBarrier> barrier_;
  Ids ids_;
  std::deque<NcclRank> ranks_;
};

void make_deterministic() {
  setenv("NCCL_ALGO", "Ring,Tree", 0);
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  setenv("NCCL_GRAPH_REGISTER", "0", 0);
}

std::unique_ptr<runtime::Connector> make(const std::vector<int>& gpus, const NcclOptions& options,
                                         const NcclProcesses* peers, const nccl::Api& api) {
  std::vector<int> sorted = gpus;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    throw Error(ErrorKind::kDevice, fmt::format("gpu:{} is named twice, but with several processes every replica needs "
                                                "a GPU of its own; put replicas that share a GPU into one process",
                                                *twice));
  if (options.deterministic) make_deterministic();
  return std::make_unique<NcclConnector>(static_cast<int>(gpus.size()), options, peers, api);
}

}  // namespace

std::unique_ptr<runtime::Connector> make_nccl(const std::vector<int>& gpus, const NcclOptions& options,
                                              const nccl::Api& api) {
  return make(gpus, options, nullptr, api);
}

std::unique_ptr<runtime::Connector> make_nccl(const std::vector<int>& gpus, const NcclOptions& options,
                                              const NcclProcesses& peers, const nccl::Api& api) {
  return make(gpus, options, &peers, api);
}

}  // namespace dptrain::distributed
