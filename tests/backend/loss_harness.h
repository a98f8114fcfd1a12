#pragma once

// Runs a LossOp on a batch, for tests of losses and metrics.

#include <span>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/guarded_memory.h"
#include "backend/measured_loss.h"
#include "backend/test_devices.h"
#include "nn/loss.h"
#include "nn/metric.h"

namespace dptrain::test {

struct LossCase {
  config::Typed loss;
  std::vector<config::Typed> metrics = {};
  Shape output;
  bool from_logits = false;
  plan::LossStep::Fusion fusion = plan::LossStep::Fusion::kNone;
  std::vector<std::int32_t> classes = {};  ///< labels as classes,
  std::vector<double> rows = {};           ///< or as rows
  std::vector<float> class_weights = {};
  std::vector<double> sample_weights = {};
  bool weighted = true;  ///< in training
};

struct LossResult {
  std::vector<double> sums;  ///< as added to kStartSum
  std::vector<float> gradient;
  std::vector<nn::ResolvedMetric> metrics = {};

  /// The state of one metric after the batch.
  std::vector<double> state(std::size_t metric) const;
};

inline constexpr double kStartSum = 1.5;  // initial value of sums

inline std::vector<double> LossResult::state(std::size_t metric) const {
  std::vector<double> added;
  for (std::size_t i = 0; i < metrics[metric].state; ++i) added.push_back(sums[metrics[metric].offset + i] - kStartSum);
  return added;
}

/// Computes in the device's type. `in_place`: the gradient overwrites the prediction. A `loss_scale` other than 1
/// multiplies the gradient, read from device memory.
inline LossResult run_loss(backend::Device& device, const LossCase& c, const std::vector<double>& prediction,
                           double gradient_scale, bool in_place = false, float loss_scale = 1) {
  shuffle();
  const DType type = device.options().compute;
  plan::Plan plan;
  plan.compute = type;
  plan.tensors.push_back({.name = "prediction", .shape = c.output, .type = type});
  plan::LossStep& loss = plan.losses.emplace_back(
      plan::LossStep{.loss = c.loss,
                     .fusion = c.fusion,
                     .from_logits = c.from_logits,
                     .prediction = 0,
                     .labels = c.classes.empty() ? nn::LabelKind::kDense : nn::LabelKind::kClass,
                     .class_weights = c.class_weights});
  for (const auto& metric : c.metrics) {  // rows: an op can compare classes with values, which a plan rejects
    auto one = nn::resolve_metric(metric, {.name = "'out'", .output = c.output, .labels = nn::LabelKind::kDense});
    one.offset = loss.sums();
    loss.metrics.push_back(std::move(one));
  }

  device.enter();
  const auto stream = device.make_stream();
  const auto rows = static_cast<std::int64_t>(prediction.size()) / c.output.elements();
  const auto op = backend::measured_loss({.plan = plan, .loss = loss, .rows = rows + 1}, device);
  const Guarded predictions(device, *stream, prediction, type), gradient(device, *stream, prediction.size(), type);
  const Guarded weights(device, *stream, c.sample_weights);
  const Guarded labels(device, *stream, c.rows), scratch(device, *stream, op->need().scratch / sizeof(float));
  const kernels::LossScale scale{.scale = loss_scale};
  const auto device_scale = device.allocate(sizeof(scale));
  device.copy_to_device(device_scale->data(), &scale, sizeof(scale), *stream);
  const auto classes = device.allocate(c.classes.size() * sizeof(std::int32_t));
  device.copy_to_device(classes->data(), c.classes.data(), c.classes.size() * sizeof(std::int32_t), *stream);
  const auto sums = device.allocate(loss.sums() * sizeof(double));
  LossResult result;
  result.sums.assign(loss.sums(), kStartSum);
  device.copy_to_device(sums->data(), result.sums.data(), result.sums.size() * sizeof(double), *stream);

  const Guarded& target = in_place ? predictions : gradient;
  op->run({.rows = rows,
           .prediction = predictions.data(),
           .labels = c.classes.empty() ? static_cast<const void*>(labels.data()) : classes->data(),
           .sample_weights = c.sample_weights.empty() ? nullptr : static_cast<const float*>(weights.data()),
           .gradient = target.data(),
           .gradient_scale = gradient_scale,
           .loss_scale = loss_scale == 1 ? nullptr : device_scale->as<kernels::LossScale>(),
           .weighted = c.weighted,
           .sums = sums->as<double>(),
           .scratch = scratch.data(),
           .stream = stream.get()});
  result.gradient = target.read("gradient");
  scratch.read("scratch");
  result.metrics = loss.metrics;
  device.copy_to_host(result.sums.data(), sums->data(), result.sums.size() * sizeof(double), *stream);
  return result;
}

}  // namespace dptrain::test
