#include "bench/verify.h"

#include <algorithm>
#include <cmath>

#include "bench/step_comparison.h"
#include "core/activity.h"
#include "core/format.h"
#include "core/text.h"
#include "nn/layer.h"
#include "nn/normalization.h"
#include "session/session.h"

namespace dptrain::bench {
namespace {

/// The loss of a step with regularizers; NaN always without a sign.
double mean_loss(const runtime::StepSums& sums) {
  const double loss = sums.loss / static_cast<double>(sums.samples) + sums.penalty;
  return std::isnan(loss) ? NAN : loss;
}

/// Reports the first step whose loss is not finite, and the side: equal non-finite losses prove nothing.
void check_losses(double tested, double reference, std::int64_t step, VerifyResult& result) {
  if (!result.not_finite.empty()) return;
  std::vector<std::string> bad;
  const auto check = [&](const char* side, double loss) {
    if (!std::isfinite(loss)) bad.push_back(fmt::format("{} is {}", side, loss));
  };
  check("of the run under test", tested);
  check("of the reference", reference);
  if (!bad.empty()) result.not_finite = fmt::format("the loss {} in step {}", join(bad, " and "), step + 1);
}

/// Starts each step from the reference's weights; these steps decide the verdict.
void compare_steps(ComparedSession& reference, ComparedSession& tested, const VerifyOptions& options,
                   VerifyResult& result) {
  data::Loader& loader = reference.session.train_loader();
  loader.seek(0, 0);
  for (std::int64_t step = 0; step < options.steps; ++step) {
    const graph::Model start = reference.pulled();
    const data::Batch batch = session::next_batch(loader);
    const runtime::StepSums a = tested.step_from(start, batch, step), b = reference.step_from(start, batch, step);
    result.losses.push_back(mean_loss(b));
    check_losses(mean_loss(a), mean_loss(b), step, result);
    result.loss = std::max(result.loss, loss_difference(a, b));
    Differences gradients = gradient_differences(tested, reference);
    Differences parameters = weight_differences(tested.pulled(), reference.pulled());
    for (VerifyRow& row : result.rows) {
      row.gradient = std::max(row.gradient, gradients[row.layer]);
      row.parameter = std::max(row.parameter, parameters[row.layer]);
    }
  }
}

/// Trains both sides independently and reports their drift, which does not affect the verdict.
void measure_drift(ComparedSession& reference, ComparedSession& tested, const VerifyOptions& options,
                   VerifyResult& result) {
  data::Loader& loader = reference.session.train_loader();
  loader.seek(0, 0);
  for (std::int64_t step = 0; step < options.steps; ++step) {
    const data::Batch batch = session::next_batch(loader);
    result.loss_drift =
        std::max(result.loss_drift, loss_difference(tested.step(batch, step), reference.step(batch, step)));
  }
  Differences drift = weight_differences(tested.pulled(), reference.pulled());
  for (VerifyRow& row : result.rows) row.drift = drift[row.layer];
}

bool has_batch_normalization(const graph::Graph& graph) {
  return std::any_of(graph.layers.begin(), graph.layers.end(), [](const graph::Layer& layer) {
    return nn::applied(layer.spec).first.get_if<nn::BatchNormalizationSpec>() != nullptr;
  });
}

session::DeviceRequest one_of(const session::DeviceRequest& devices) {
  return devices.on_gpus() ? session::request_of({devices.gpus.front()}) : session::DeviceRequest{};
}

backend::DeviceKind kind_of(const session::DeviceRequest& devices) {
  return devices.gpus.empty() ? backend::DeviceKind::kCpu : devices.gpus.front().kind;
}

}  // namespace

Tolerance default_tolerance(const experiment::Experiment& experiment, const VerifyOptions& options) {
  const backend::DeviceKind kind = kind_of(options.devices);
  const bool same_rows =
      kind != backend::DeviceKind::kCuda && kind_of(options.against.value_or(options.devices)) == kind;
  // Rounding a replica's gradient to 8 bits is visible in a layer's gradient.
  if (experiment.config.parallel.allreduce_dtype == experiment::AllreduceDtype::kBfloat16) {
    experiment::Experiment exact = experiment;
    exact.config.parallel.allreduce_dtype = experiment::AllreduceDtype::kFloat32;
    const Tolerance tolerance = default_tolerance(exact, options);
    return {std::max(tolerance.layers, 2e-2), tolerance.loss};
  }
  switch (experiment.config.train.dtype_policy) {
    case experiment::DtypePolicy::kMixedBfloat16: return same_rows ? Tolerance{2e-2, 1e-3} : Tolerance{5e-1, 1e-2};
    case experiment::DtypePolicy::kMixedFloat16: return same_rows ? Tolerance{5e-3, 1e-4} : Tolerance{3e-1, 1e-3};
    case experiment::DtypePolicy::kFloat32: break;
  }
  return same_rows ? Tolerance{1e-5, 1e-5} : Tolerance{1e-2, 1e-4};
}

VerifyResult verify(const experiment::Experiment& experiment, const VerifyOptions& options) {
  const Activity activity("comparing steps");
  // Only the side under test has the number of replicas that multiplies `batch_size_per_replica`.
  const int replicas = session::make_rank_layout(options.processes, options.devices.replicas).ranks();
  const std::int64_t batch_size = global_batch(experiment.config.train, replicas);
  experiment::Experiment whole = experiment;
  whole.config.parallel.split = {};
  const session::DeviceRequest one = options.against.value_or(one_of(options.devices));
  // Mixed policies differ between CPUs and GPUs: as the reference for GPUs, a CPU computes in float32.
  if (!one.on_gpus() && options.devices.on_gpus()) whole.config.train.dtype_policy = experiment::DtypePolicy::kFloat32;
  ComparedSession reference(comparable(whole, 1), {.devices = one, .data = options.data, .batch = batch_size});
  ComparedSession tested(
      comparable(experiment, options.accumulate),
      {.devices = options.devices, .processes = options.processes, .data = options.data, .batch = batch_size});
  const graph::Model start = reference.session.model();

  VerifyResult result;
  result.replicas = replicas;
  result.micro_batches = tested.session.micro_batches();
  result.tolerance =
      options.tolerance ? Tolerance{*options.tolerance, *options.tolerance} : default_tolerance(experiment, options);
  result.tested_device = tested.session.device_lines().front();
  result.reference_device = reference.session.device_lines().front();
  result.full_float32 = experiment.config.runtime.tf32 && (options.devices.on_real_gpus() || one.on_real_gpus());
  result.normalisation_synchronised =
      !experiment.config.parallel.virtual_shards && has_batch_normalization(experiment.graph);
  for (const graph::Layer& layer : start.graph.layers)
    if (!layer.weights.empty()) result.rows.push_back({layer.name, 0, 0});
  compare_steps(reference, tested, options, result);
  reference.session.replicas().push(start);
  tested.session.replicas().push(start);
  measure_drift(reference, tested, options, result);
  std::sort(result.rows.begin(), result.rows.end(),
            [](const VerifyRow& a, const VerifyRow& b) { return a.gradient > b.gradient; });
  result.passed = result.not_finite.empty() && result.loss <= result.tolerance.loss &&
                  std::all_of(result.rows.begin(), result.rows.end(), [&](const VerifyRow& row) {
                    return row.gradient <= result.tolerance.layers && row.parameter <= result.tolerance.layers;
                  });
  return result;
}

double dry_run(session::Session& session) {
  data::Loader& loader = session.train_loader();
  loader.seek(0, 0);
  const data::Batch batch = loader.next();
  return session.replicas().gradients(batch.view(), batch.rows(), 0).loss / static_cast<double>(batch.rows());
}

}  // namespace dptrain::bench
