#include "replica/replica.h"

#include <algorithm>

#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "replica/arenas.h"
#include "replica/executor.h"

namespace dptrain::replica {
namespace {

bool regularized(const plan::Plan& plan) {
  return std::ranges::any_of(plan.parameters,
                             [](const plan::Parameter& p) { return p.penalty.l1 != 0 || p.penalty.l2 != 0; });
}

}  // namespace

struct Replica::Impl {
  Impl(const plan::Plan& plan_, device::Device& device_, GradientSink& sink_, device::Collective* collective,
       Options options_)
      : plan(plan_),
        device(device_),
        sink(sink_),
        options(std::move(options_)),
        stream(device.make_stream()),
        arenas(plan, device, *stream, options.optimizer, options.accumulate),
        executor(plan, device, *stream, collective, arenas, options) {
    // Without an optimizer the update is only asked for the penalty, which does not depend on the kind.
    if (options.optimizer)
      update = device.make_update({.plan = plan, .optimizer = options.optimizer});
    else if (regularized(plan))
      update = device.make_update({.plan = plan, .optimizer = optim::optimizer_family().make(optim::SGDSpec{})});
  }

  /// Forward and backward; `announce` hands buckets over, which the last micro-batch of a step does.
  void micro_batch(const Slice& slice, const StepInputs& in, bool announce) {
    executor.forward(slice, in);
    executor.backward(slice, in, [&](const plan::BackwardItem& item) {
      if (announce)
        for (const int bucket : item.buckets_ready) hand_over(bucket);
    });
    if (announce && plan.backward.empty())
      for (int bucket = 0; bucket < static_cast<int>(plan.buckets.size()); ++bucket) hand_over(bucket);
    if (!announce && arenas.accumulates())
      device.accumulate(arenas.gradients(), arenas.written(), plan.statistics_end, *stream);
  }

  void hand_over(int bucket) {
    const auto [begin, end] = plan.buckets[static_cast<std::size_t>(bucket)];
    if (arenas.accumulates())
      device.accumulate(arenas.gradients() + begin, arenas.written() + begin, end - begin, *stream);
    const Stopwatch watch;
    sink.bucket_ready(bucket, *stream);
    times.comm_exposed += watch.seconds();
  }

  /// Starts the sums of a step or of an evaluation.
  void begin() {
    executor.clear_sums();
    times = {};
  }

  /// Sums over `samples`, with the penalty of the weights as they are now.
  StepSums sums(std::int64_t samples, double penalty) {
    StepSums all = executor.read_sums();
    all.samples = samples;
    all.penalty = penalty;
    return all;
  }

  /// Counted once for all replicas, which hold the same weights.
  double penalty() {
    return options.rank == 0 && update && regularized(plan) ? update->penalty(arenas.parameters(), *stream) : 0;
  }

  const plan::Plan& plan;
  device::Device& device;
  GradientSink& sink;
  const Options options;
  std::unique_ptr<device::Stream> stream;
  ParameterArenas arenas;
  Executor executor;
  std::unique_ptr<device::Update> update;
  StepTimes times;
};

Replica::Replica(const plan::Plan& plan, device::Device& device, GradientSink& sink, device::Collective* collective,
                 Options options)
    : impl_(std::make_unique<Impl>(plan, device, sink, collective, std::move(options))) {}

Replica::~Replica() = default;

StepSums Replica::step(const std::vector<Slice>& micro_batches, const StepInputs& in) {
  Impl& r = *impl_;
  if (micro_batches.empty() || (micro_batches.size() > 1 && !r.arenas.accumulates()))
    throw Error(ErrorKind::kInternal, fmt::format("{} micro-batches for a replica made for {}", micro_batches.size(),
                                                  r.arenas.accumulates() ? "at least one" : "one"));
  Stopwatch watch;
  r.begin();
  r.sink.begin(in.number);
  if (r.arenas.accumulates()) r.device.fill(r.arenas.gradients(), r.plan.statistics_end, 0, *r.stream);
  std::int64_t samples = 0;
  for (const Slice& slice : micro_batches) {
    r.micro_batch(slice, in, &slice == &micro_batches.back());
    samples += slice.rows;
  }
  r.times.forward_backward = watch.restart() - r.times.comm_exposed;

  r.sink.finish(*r.stream);
  r.times.comm_exposed += watch.restart();

  const double penalty = r.penalty();
  r.update->run(r.arenas.update_buffers(), {.step = in.number, .learning_rate = in.learning_rate}, *r.stream);
  r.times.optimizer = watch.seconds();
  return r.sums(samples, penalty);
}

StepSums Replica::gradients(const Slice& slice, std::int64_t valid, std::int64_t number) {
  Impl& r = *impl_;
  r.begin();
  if (r.arenas.accumulates()) r.device.fill(r.arenas.gradients(), r.plan.statistics_end, 0, *r.stream);
  r.micro_batch(slice, {.number = number, .valid = valid}, false);
  return r.sums(slice.rows, r.penalty());
}

StepSums Replica::evaluate(const Slice& slice) {
  impl_->begin();
  impl_->executor.evaluate(slice);
  return impl_->sums(slice.rows, impl_->penalty());
}

void Replica::predict(const Slice& slice, float* output) { impl_->executor.predict(slice, output); }

void Replica::push(const graph::Model& model) { impl_->arenas.push(model); }
void Replica::pull(graph::Model& model) { impl_->arenas.pull(model); }
void Replica::push_state(const std::vector<std::vector<float>>& state) { impl_->arenas.push_state(state); }
std::vector<std::vector<float>> Replica::pull_state() { return impl_->arenas.pull_state(); }

std::uint64_t Replica::parameter_hash() {
  return impl_->device.hash(impl_->arenas.parameters(), impl_->plan.total, *impl_->stream);
}

std::vector<float> Replica::pull_gradients() {
  std::vector<float> values(static_cast<std::size_t>(impl_->plan.statistics_end));
  impl_->device.copy_to_host(values.data(), impl_->arenas.gradients(), values.size() * sizeof(float), *impl_->stream);
  return values;
}

float* Replica::gradient_arena() { return impl_->arenas.gradients(); }
float* Replica::parameter_arena() { return impl_->arenas.parameters(); }
const StepTimes& Replica::times() const { return impl_->times; }
const plan::MemoryPlan& Replica::memory() const { return impl_->executor.memory(); }
std::vector<std::string> Replica::implementations() const { return impl_->executor.implementations(); }
std::size_t Replica::bytes() const { return impl_->arenas.bytes() + impl_->executor.bytes(); }
void Replica::set_profiling(bool on) { impl_->executor.set_profiling(on); }
std::vector<Replica::StepProfile> Replica::profile() const { return impl_->executor.profile(); }

}  // namespace dptrain::replica
