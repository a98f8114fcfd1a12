#include "runtime/replica.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "core/index.h"
#include "core/quantity.h"
#include "core/trace.h"
#include "nn/optimizers.h"
#include "runtime/arenas.h"
#include "runtime/non_finite_search.h"
#include "runtime/secondary_slots.h"
#include "runtime/shard_sums.h"
#include "runtime/slot_sync.h"
#include "runtime/step_recorder.h"
#include "runtime/step_runner.h"
#include "runtime/timed_collective.h"

namespace dptrain::runtime {
namespace {

/// Throws Error{kUsage} if the options require recording and a replica with `slots` slots cannot record its steps.
/// `sums_too`: whether a recording may contain the sums over the replicas.
void check_graphs(const ReplicaOptions& options, int slots, bool sums_too) {
  if (options.graphs != backend::Graphs::kOn) return;
  if (slots > 1)
    throw Error(ErrorKind::kUsage,
                fmt::format("runtime.cuda_graphs: on needs replicas of one slot, found {}; use auto", slots));
  if ((options.replicas > 1 && !sums_too) || options.accumulate)
    throw Error(ErrorKind::kUsage,
                fmt::format("runtime.cuda_graphs: on needs one replica, or one process whose replicas have a GPU each, "
                            "and accumulate_steps 1, found {}{}{}; use auto",
                            counted(options.replicas, "replica"),
                            options.replicas > 1 && !sums_too ? " that sum otherwise" : "",
                            options.accumulate ? " and accumulation" : ""));
}

/// Throw Error{kInternal}. A step has one micro-batch, or at least one if the replica accumulates. Every shard has the
/// same number of slices.
void check_shards(const ReplicaOptions& options, std::size_t slices) {
  if (slices == 0 || slices % at(options.shards) != 0)
    throw Error(ErrorKind::kInternal, fmt::format("{} slices for {} shards", slices, options.shards));
}

void check_micro_batches(const ReplicaOptions& options, std::size_t micro_batches, bool accumulates) {
  if (micro_batches == 0 || (micro_batches > 1 && !accumulates))
    throw Error(ErrorKind::kInternal, fmt::format("{} micro-batches for a replica made for {}", micro_batches,
                                                  accumulates ? "at least one" : "one"));
  check_shards(options, micro_batches);
}

/// Whether any parameter has a penalty.
bool regularized(const plan::Plan& plan) {
  return std::ranges::any_of(plan.parameters,
                             [](const plan::Parameter& p) { return p.penalty.l1 != 0 || p.penalty.l2 != 0; });
}

}  // namespace

backend::Graphs graphs_for(backend::Graphs choice, int replicas) {
  return choice == backend::Graphs::kAuto && replicas > 1 ? backend::Graphs::kOff : choice;
}

struct Replica::Impl {
  Impl(const plan::Plan& plan_, backend::Device& device_, GradientSink& sink_, backend::Collective* collective_,
       ReplicaOptions options_)
      : plan(plan_),
        device(device_),
        sink(sink_),
        options(std::move(options_)),
        stream(device.make_stream()),
        timed_collective(collective_ == nullptr ? nullptr
                                                : std::make_unique<TimedCollective>(*collective_, times.comm_exposed)),
        collective(timed_collective.get()),
        arenas(plan, device, *stream, options),
        sync(plan.slot_count() > 1 ? std::make_unique<SlotSync>(plan) : nullptr),
        runner(plan, device, *stream, collective, arenas, options, {.slot = 0, .sync = sync.get()}) {
    if (sync) secondary_slots.emplace(plan, device, options.secondary_devices, arenas, *sync, options);
    check_graphs(options, plan.slot_count(), sink.records());
    if (options.shards > 1 && arenas.accumulates())
      tree.emplace(device, *stream, options.shards, arenas.written(), arenas.gradients(), plan.statistics_end);
    // Without an optimizer the update computes only the penalty, which does not depend on the optimizer.
    if (options.optimizer)
      update = device.make_update(
          {.plan = plan, .optimizer = options.optimizer, .continue_after_nonfinite = options.continue_after_nonfinite});
    else if (regularized(plan))
      update = device.make_update({.plan = plan, .optimizer = nn::optimizer_family().make(nn::SGDSpec{})});
  }

  /// Forward and backward of all micro-batches, reduction and update, queued one by one.
  void run_step(const std::vector<BatchView>& micro_batches, const StepInputs& in) {
    const trace::Span span("step", "step", in.number + 1);
    Stopwatch watch;
    clear_sums();
    sink.begin(in.number, in.may_load_kernels);
    arenas.clear_tables();
    clear_accumulated();
    runner.count_ahead(micro_batches, in, [this] { return next_set(); });
    int set = next_set();
    runner.stage(micro_batches.front(), set);
    for (std::size_t m = 0; m < micro_batches.size(); ++m) {
      const bool last = m + 1 == micro_batches.size();
      micro_batch(micro_batches[m], set, in, static_cast<int>(m), last);
      // Copies from memory that is not page-locked block this thread; by now the device has other work.
      if (!last) runner.stage(micro_batches[m + 1], set = next_set());
    }
    times.forward_backward = watch.restart() - times.comm_exposed;

    beat("summing gradients over the replicas");
    const double waited = times.comm_exposed;
    finish_sums();
    times.comm_exposed = waited + watch.restart();

    run_update(in);
    times.optimizer += watch.seconds();
  }

  void finish_sums() {
    const trace::Span span("all-reduce", "until all gradients are summed");
    sink.finish(*stream);
    if (options.replicas > 1) arenas.share_tables(collective);
  }

  void clear_accumulated() {
    if (arenas.accumulates() && !tree) device.fill(arenas.gradients(), plan.statistics_end, 0, *stream);
  }

  /// Adds a range of what backward has written for a micro-batch to the sum.
  void accumulate(int number, std::int64_t begin, std::int64_t end) {
    if (tree)
      tree->add(number, begin, end);
    else if (arenas.accumulates())
      device.accumulate(arenas.gradients() + begin, arenas.written() + begin, DType::kF32, end - begin, *stream);
  }

  /// Forward and backward. `announce`: pass completed buckets to the sink; set for the last micro-batch of a step.
  void micro_batch(const BatchView& slice, int set, const StepInputs& in, int number, bool announce) {
    runner.buffers().select_shard(number % options.shards);
    runner.begin(slice, set);
    passes(slice, in, number, announce);
    runner.release(set);
    if (!announce) accumulate(number, 0, plan.statistics_end);
  }

  void passes(const BatchView& slice, const StepInputs& in, int number, bool announce) {
    runner.forward(slice, in);
    runner.backward(slice, in, [&](const plan::BackwardItem& item) {
      if (announce)
        for (const int bucket : item.buckets_ready) signal_bucket(bucket, number);
    });
    if (announce && plan.backward.empty())
      for (int bucket = 0; bucket < static_cast<int>(plan.buckets.size()); ++bucket) signal_bucket(bucket, number);
  }

  void signal_bucket(int bucket, int number) {
    const auto [begin, end] = plan.buckets[static_cast<std::size_t>(bucket)];
    accumulate(number, begin, end);
    if (begin == 0) runner.mark_gradients_not_finite();
    beat("passing gradients to the all-reduce");
    const trace::Span span("all-reduce", "passing bucket", bucket);
    const Stopwatch watch;
    sink.bucket_ready(bucket, *stream);
    times.comm_exposed += watch.seconds();
  }

  void beat(const char* what) const {
    if (options.heartbeat != nullptr) options.heartbeat->beat(what);
  }

  void run_update(const StepInputs& in) {
    beat("the update");
    const trace::Span span("update", "update");
    arenas.update(*update, {.step = in.number, .learning_rate = in.learning_rate}, runner.buffers().state());
  }

  /// Uses only values that are equal on all replicas, because all of them replay or none. Recordings cannot contain the
  /// reduction of tables.
  bool may_replay(const StepInputs& in) const {
    return options.graphs != backend::Graphs::kOff && in.is_full_batch && !secondary_slots && !arenas.accumulates() &&
           (options.replicas == 1 || (sink.records() && plan.table_floats == 0)) && !runner.profiler().is_on();
  }

  /// One launch of a recording: the state from the host buffers, the work of run_step() for one micro-batch, and the
  /// sums to the host buffers. False: no recording is available.
  bool replay_step(const BatchView& slice, const StepInputs& in, std::size_t host_index) {
    check_same(slice, in);
    const int set = last_set = static_cast<int>(host_index % kSets);
    runner.stage(slice, set);
    runner.begin(slice, set);
    const bool sums = sink.records();
    backend::Recording* const recording = recorder.recording(host_index, [&] {
      runner.buffers().send_state(host_index);
      clear_sums();
      passes(slice, in, 0, sums);
      sums ? finish_sums() : runner.mark_gradients_not_finite();
      run_update(in);
      runner.buffers().fetch_sums(host_index);
    });
    if (recording != nullptr) {
      if (sums) {
        sink.begin(in.number, in.may_load_kernels);
        sink.replay();
      }
      beat("replaying a recorded step");
      const trace::Span span("launch", "whole recorded step", in.number + 1);
      arenas.replay(*recording);
    }
    runner.release(set);
    return recording != nullptr;
  }

  /// These numbers are fixed in a recording.
  void check_same(const BatchView& slice, const StepInputs& in) {
    const std::array now{slice.rows, slice.first_row, in.global_samples};
    if (built_in.value_or(now) != now)
      throw Error(ErrorKind::kInternal,
                  fmt::format("a step of {} of {} rows from row {} cannot replay {} of {} rows from row {}", now[0],
                              now[2], now[1], (*built_in)[0], (*built_in)[2], (*built_in)[1]));
    built_in = now;
  }

  /// Whether the update of the step that produced `account` was skipped.
  bool was_skipped(const kernels::LossScale& account) {
    const bool more = arenas.take_new_skips(account);
    return !arenas.scales_loss() && (account.found_inf != 0 || more);
  }

  int next_set() { return last_set = (last_set + 1) % kSets; }

  /// Sets the sums to zero and adds the penalty of the current weights. Only rank 0 adds it, because all replicas have
  /// equal weights.
  void clear_sums() {
    runner.buffers().clear_sums();
    if (options.rank == 0 && update && regularized(plan)) runner.penalty(*update, arenas.parameters());
  }

  void check_nothing_is_queued() const {
    if (count > 0) throw Error(ErrorKind::kInternal, fmt::format("{} steps were not collected", count));
  }
  void check_queue_has_space() const {
    if (count == kMaxQueued) throw Error(ErrorKind::kInternal, fmt::format("{} steps are queued already", count));
  }

  /// Calls `work` for every slot's runner concurrently; all slots make the same calls.
  template <class Work>
  void on_slots(const Work& work) {
    if (!secondary_slots) return work(runner);
    secondary_slots->run(work, [&] { work(runner); });
  }

  /// One value per plan step, from the step runner of its slot.
  template <class Of>
  auto of_steps(const Of& of) const {
    auto all = of(runner);
    for (int i = 0; secondary_slots && i < secondary_slots->size(); ++i) {
      const auto more = of(secondary_slots->runner(i));
      for (std::size_t s = 0; s < all.size(); ++s)
        if (plan.steps[s].slot == i + 1) all[s] = more[s];
    }
    return all;
  }

  Profile profile() const {
    std::vector<const LayerProfiler*> slots{&runner.profiler()};
    for (int i = 0; secondary_slots && i < secondary_slots->size(); ++i)
      slots.push_back(&secondary_slots->runner(i).profiler());
    Profile all;
    for (const plan::Step& step : plan.steps)
      all.steps.push_back(slots[at(step.slot)]->profile().steps[all.steps.size()]);
    for (const LayerProfiler* slot : slots) {
      all.losses.add(slot->profile().losses);
      all.sums.add(slot->profile().sums);
      all.operations_per_sample += slot->operations_per_sample();
    }
    return all;
  }

  /// The counterpart of run_step() in a secondary slot: its part of the same micro-batches.
  void run_secondary_slot(StepRunner& slot, const std::vector<BatchView>& micro_batches, const StepInputs& in) const {
    auto next = [set = 0]() mutable { return set = (set + 1) % kSets; };
    slot.buffers().clear_sums();
    slot.count_ahead(micro_batches, in, next);
    for (std::size_t m = 0; m < micro_batches.size(); ++m) {
      const int mine = next();
      const BatchView& slice = micro_batches[m];
      slot.buffers().select_shard(static_cast<int>(m) % options.shards);
      slot.stage(slice, mine);
      slot.begin(slice, mine);
      slot.forward(slice, in);
      slot.backward(slice, in, [](const plan::BackwardItem&) {});
      slot.release(mine);
    }
  }

  /// Runs `on_primary` while the secondary slots run run_secondary_slot().
  void with_secondary_slots(const std::vector<BatchView>& micro_batches, const StepInputs& in,
                            const kernels::StepState& state, std::size_t host_index,
                            const std::function<void()>& on_primary) {
    if (!secondary_slots) return on_primary();
    secondary_slots->run(
        [&](StepRunner& slot) {
          slot.buffers().send_state(state, host_index);
          run_secondary_slot(slot, micro_batches, in);
        },
        on_primary);
  }

  /// Adds the work just queued on the device to the queue, with its sums.
  void enqueue(const std::vector<BatchView>& slices, bool step) {
    Queued& last = queue[ring_slot(count)];
    last = {.step = step};
    for (const BatchView& slice : slices) last.samples += slice.rows;
    runner.buffers().mark_sums(ring_slot(count));
    ++count;
  }

  /// Sums over `samples` outside of a queued step or evaluation; waits for them.
  StepSums sums(std::int64_t samples) {
    check_nothing_is_queued();
    runner.buffers().fetch_sums(0);
    runner.buffers().mark_sums(0);
    StepSums all = runner.buffers().read_sums(0);
    all.samples = samples;
    return all;
  }

  /// Ring slot of the state and sums of a queued step; `place` counts from the oldest one.
  std::size_t ring_slot(std::size_t place) const { return (oldest + place) % kHostBuffers; }

  const plan::Plan& plan;
  backend::Device& device;
  GradientSink& sink;
  const ReplicaOptions options;
  std::unique_ptr<backend::Stream> stream;
  StepTimes times;
  const std::unique_ptr<backend::Collective> timed_collective;  ///< null: the only replica
  backend::Collective* const collective;
  ParameterArenas arenas;
  std::unique_ptr<SlotSync> sync;  ///< null: the only slot
  StepRunner runner;               ///< of the primary slot
  std::optional<SecondarySlots> secondary_slots;
  std::optional<GradientTree> tree;  ///< only with several shards
  std::unique_ptr<backend::Update> update;
  std::vector<std::unique_ptr<NonFiniteSearch>> searches;  ///< by slot; empty outside of a search
  StepRecorder recorder{device, *stream, options, sink.records() ? &sink : nullptr};
  std::optional<std::array<std::int64_t, 3>> built_in;  ///< rows, first row and samples of recorded steps
  bool replayed = false;
  int last_set = kSets - 1;           ///< last set used
  std::size_t oldest = 0, count = 0;  ///< of the queued steps
  struct Queued {
    std::int64_t samples = 0;
    bool step = false;  ///< false: an evaluation
  };
  std::array<Queued, kHostBuffers> queue{};  ///< by ring slot
};

Replica::Replica(const plan::Plan& plan, backend::Device& device, GradientSink& sink, backend::Collective* collective,
                 ReplicaOptions options)
    : impl_(std::make_unique<Impl>(plan, device, sink, collective, std::move(options))) {}

Replica::~Replica() = default;

void Replica::queue_step(const std::vector<BatchView>& micro_batches, const StepInputs& in) {
  Impl& r = *impl_;
  check_micro_batches(r.options, micro_batches.size(), r.arenas.accumulates());
  r.check_queue_has_space();
  r.times = {};
  Stopwatch watch;
  const std::size_t slot = r.ring_slot(r.count);
  kernels::StepState state;
  r.update->describe({.step = in.number, .learning_rate = in.learning_rate}, state);
  r.runner.buffers().write_state(state, slot);
  r.times.optimizer = watch.restart();

  const bool replay = r.may_replay(in) && r.recorder.should_record() && !in.may_load_kernels;
  r.replayed = replay && r.replay_step(micro_batches.front(), in, slot);
  if (!r.replayed) {
    r.runner.buffers().send_state(slot);
    r.with_secondary_slots(micro_batches, in, state, slot, [&] { r.run_step(micro_batches, in); });
    r.runner.buffers().fetch_sums(slot);
    watch.restart();
  }
  r.enqueue(micro_batches, true);
  r.times.forward_backward += watch.seconds();
}

std::size_t Replica::queued() const { return impl_->count; }

bool Replica::done() { return impl_->runner.buffers().has_sums(impl_->oldest); }

StepSums Replica::collect() {
  Impl& r = *impl_;
  if (r.count == 0) throw Error(ErrorKind::kInternal, "no step is queued");
  const Stopwatch watch;
  const std::size_t place = r.oldest;
  r.beat("waiting for the device");
  StepSums sums = r.runner.buffers().read_sums(place);
  const Impl::Queued done = r.queue[place];
  sums.samples = done.samples;
  r.oldest = r.ring_slot(1);
  --r.count;
  r.times.forward_backward += watch.seconds();
  if (done.step) {
    sums.update_skipped = r.was_skipped(r.runner.buffers().read_loss_scale(place));
    r.sink.end(r.count == 0);
  }
  return sums;
}

StepSums Replica::step(const std::vector<BatchView>& micro_batches, const StepInputs& in) {
  queue_step(micro_batches, in);
  return collect();
}

StepSums Replica::gradients(const std::vector<BatchView>& micro_batches, std::int64_t global_samples,
                            std::int64_t number) {
  Impl& r = *impl_;
  check_micro_batches(r.options, micro_batches.size(), r.arenas.accumulates());
  r.times = {};
  r.arenas.clear_tables();
  r.clear_accumulated();
  const StepInputs in{.number = number, .global_samples = global_samples};
  std::int64_t rows = 0;
  for (const BatchView& slice : micro_batches) rows += slice.rows;
  r.with_secondary_slots(micro_batches, in, {.step = number}, 0, [&] {
    r.runner.buffers().send_state({.step = number}, 0);
    r.clear_sums();
    r.runner.count_ahead(micro_batches, in, [&r] { return r.next_set(); });
    for (std::size_t m = 0; m < micro_batches.size(); ++m) {
      const int set = r.next_set();
      r.runner.stage(micro_batches[m], set);
      r.micro_batch(micro_batches[m], set, in, static_cast<int>(m), false);
    }
  });
  return r.sums(rows);
}

void Replica::begin_search() {
  Impl& r = *impl_;
  r.check_nothing_is_queued();
  r.searches.resize(at(r.plan.slot_count()));
  r.on_slots([&r](StepRunner& slot) { r.searches[at(slot.slot())] = std::make_unique<NonFiniteSearch>(slot); });
}

void Replica::end_search() {
  Impl& r = *impl_;
  r.on_slots([&r](StepRunner& slot) { r.searches[at(slot.slot())].reset(); });
  r.searches.clear();
}

std::optional<NotFinite> Replica::find_not_finite(const std::vector<BatchView>& micro_batches, const StepInputs& in) {
  Impl& r = *impl_;
  r.check_nothing_is_queued();
  if (r.searches.empty()) throw Error(ErrorKind::kInternal, "find_not_finite() before begin_search()");
  std::optional<NotFinite> first;
  r.clear_accumulated();
  std::mutex mutex;
  std::pair<std::size_t, int> earliest;  // micro-batch, moment
  r.on_slots([&](StepRunner& slot) {
    const bool primary = &slot == &r.runner;
    slot.buffers().send_state({.step = in.number}, 0);
    auto next = [set = 0]() mutable { return set = (set + 1) % kSets; };
    slot.buffers().select_shard(0);
    slot.count_ahead(micro_batches, in, next);
    for (std::size_t m = 0; m < micro_batches.size(); ++m) {
      primary ? r.clear_sums() : slot.buffers().clear_sums();
      if (primary) r.arenas.clear_tables();
      const auto found = r.searches[at(slot.slot())]->run(micro_batches[m], in, next());
      if (primary) r.accumulate(static_cast<int>(m), 0, r.plan.statistics_end);
      const std::lock_guard lock(mutex);
      if (!found || (first && earliest <= std::pair(m, found->moment))) continue;
      first = found;
      earliest = {m, found->moment};
    }
  });
  r.stream->synchronize();
  return first;
}

void Replica::queue_evaluation(const std::vector<BatchView>& slices) {
  Impl& r = *impl_;
  r.check_queue_has_space();
  check_shards(r.options, slices.size());
  r.times = {};
  const std::size_t pieces = slices.size() / at(r.options.shards);
  const int first = r.next_set();
  r.on_slots([&](StepRunner& slot) {
    &slot == &r.runner ? r.clear_sums() : slot.buffers().clear_sums();
    int set = first;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      slot.buffers().select_shard(static_cast<int>(i / pieces));
      slot.evaluate(slices[i], set = (set + 1) % kSets);
    }
  });
  r.last_set = (first + static_cast<int>(slices.size())) % kSets;
  r.runner.buffers().fetch_sums(r.ring_slot(r.count));
  r.enqueue(slices, false);
}

StepSums Replica::evaluate(const BatchView& slice) {
  impl_->check_nothing_is_queued();
  queue_evaluation({slice});
  return collect();
}

void Replica::predict(const BatchView& slice, const std::vector<void*>& outputs) {
  impl_->on_slots([&](StepRunner& slot) { slot.predict(slice, outputs); });
}

void Replica::add_dataset(int number, const DeviceDataset& dataset) {
  impl_->on_slots([&](StepRunner& slot) { slot.add_dataset(number, dataset); });
}
ParameterArenas& Replica::arenas() { return impl_->arenas; }
backend::Stream& Replica::stream() { return *impl_->stream; }

void Replica::drain() noexcept {
  if (impl_->secondary_slots) impl_->secondary_slots->drain();
  try {
    impl_->stream->set_watcher({});
    impl_->stream->synchronize();
  } catch (...) {  // the failure has already been thrown
  }
  impl_->recorder.drop();
}

const StepTimes& Replica::times() const { return impl_->times; }
bool Replica::replayed() const { return impl_->replayed; }
const plan::MemoryPlan& Replica::memory() const { return impl_->runner.memory(); }
std::vector<std::string> Replica::implementations() const {
  return impl_->of_steps([](const StepRunner& slot) { return slot.implementations(); });
}
std::size_t Replica::bytes() const {
  return impl_->arenas.bytes() + impl_->runner.bytes() + (impl_->tree ? impl_->tree->bytes() : 0) +
         (impl_->secondary_slots ? impl_->secondary_slots->bytes() : 0);
}
void Replica::PassProfile::add(const PassProfile& more) {
  seconds += more.seconds;
  operations += more.operations;
  bytes += more.bytes;
  set = std::max(set, more.set);
}

void Replica::set_profiling(bool on) {
  impl_->on_slots([on](StepRunner& slot) { slot.profiler().set_on(on); });
}
Replica::Profile Replica::profile() const { return impl_->profile(); }

}  // namespace dptrain::runtime
