#include "session/step_parts.h"

#include <algorithm>
#include <memory>

#include "core/index.h"
#include "nn/normalization.h"
#include "session/dry_plan.h"

namespace dptrain::session {
namespace {

/// Moments of the global batch: one gather in forward, one in backward.
int gathers_of(const plan::Plan& plan) {
  int gathers = 0;
  for (const plan::Step& step : plan.steps) {
    const auto* norm = step.spec.get_if<nn::BatchNormalizationSpec>();
    if (norm != nullptr && norm->synchronized && !step.inference_mode) gathers += step.has_backward ? 2 : 1;
  }
  return gathers;
}

/// `measured`: the device has run it, so it computes the config's policy.
void make_dry(const experiment::Experiment& experiment, const DeviceRequest& device, std::int64_t rows, bool measured,
              DryPlan& dry) {
  DeviceRequest one = device;
  one.replicas = 1;
  if (!one.gpus.empty()) one.gpus.resize(1);
  experiment::Experiment alone = experiment;
  alone.config.parallel.split = {};
  // Gradients are float32 in any case; a CPU that is not this one may not multiply bfloat16.
  if (!measured && !one.on_gpus()) alone.config.train.dtype_policy = experiment::DtypePolicy::kFloat32;
  make_dry_plan(alone, one, {.global_batch = rows}, dry);
}

}  // namespace

StepParts parts_of(const plan::Plan& plan, const std::vector<StepWeight>& weights, double seconds,
                   std::int64_t micro_batches) {
  if (weights.size() != plan.steps.size())
    throw Error(ErrorKind::kInternal, fmt::format("{} times of a plan of {} steps", weights.size(), plan.steps.size()));
  const bool unknown =
      std::ranges::all_of(weights, [](const StepWeight& weight) { return weight.forward + weight.backward <= 0; });
  const auto weight = [&](int step) { return unknown ? StepWeight{1, 1} : weights[at(step)]; };
  double forward = 0, backward = 0;
  for (int step = 0; step < static_cast<int>(plan.steps.size()); ++step) forward += weight(step).forward;
  std::vector<double> ready(plan.buckets.size(), 0.0);
  for (const plan::BackwardItem& item : plan.backward) {
    if (item.kind == plan::BackwardItem::Kind::kStep) backward += weight(item.step).backward;
    for (const int bucket : item.buckets_ready) ready[at(bucket)] = backward;
  }
  const double each = seconds / (forward + backward) / static_cast<double>(micro_batches);
  StepParts parts;
  parts.backward = backward * each;
  parts.forward = seconds - parts.backward;
  for (std::size_t b = 0; b < plan.buckets.size(); ++b)
    parts.buckets.push_back({.bytes = static_cast<double>(plan.buckets[b].end - plan.buckets[b].begin) * sizeof(float),
                             .ready = ready[b] * each});
  parts.gathers = gathers_of(plan) * static_cast<int>(micro_batches);
  return parts;
}

StepParts given_parts(const experiment::Experiment& experiment, const DeviceRequest& device, std::int64_t rows,
                      double seconds) {
  DryPlan dry;
  make_dry(experiment, device, rows, false, dry);
  std::vector<StepWeight> weights;
  for (const auto& [forward, backward] : dry.flops) weights.push_back({forward, backward});
  return parts_of(dry.plan, weights, seconds, dry.micro_batches);
}

StepParts measured_parts(const experiment::Experiment& experiment, const DeviceRequest& device, std::int64_t rows,
                         int side_by_side, const BenchOptions& options) {
  experiment::Experiment alone = experiment;
  alone.config.parallel.split = {};
  BenchOptions bench_options = options;
  bench_options.processes = nullptr;
  bench_options.layers = true;
  bench_options.devices = device;
  bench_options.devices.replicas = side_by_side;
  bench_options.devices.cpus.clear();  // these are others
  bench_options.batch = rows * side_by_side;
  const BenchRow row = bench(alone, bench_options);
  DryPlan dry;
  make_dry(experiment, device, rows, true, dry);
  std::vector<StepWeight> weights;
  for (const LayerTime& layer : row.layers) weights.push_back({layer.forward_ms, layer.backward_ms});
  StepParts parts = parts_of(dry.plan, weights, row.forward_backward_ms * 1e-3, row.micro_batches);
  parts.update = row.optimizer_ms * 1e-3;
  // What replicas wait for each other stays in: those that share cores are late by turns, however they sum.
  const double known = row.forward_backward_ms + row.optimizer_ms + row.data_wait_ms;
  parts.other = std::max(0.0, row.step_ms - known) * 1e-3;
  return parts;
}

}  // namespace dptrain::session
