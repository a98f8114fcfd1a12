#pragma once

// A small CNN whose layers expose differences between replicas, recordings or devices, and devices for it.

#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "runtime/sample_batch.h"

namespace dptrain::test {

inline constexpr const char* kSmallNet = R"(
layers:
  - Input: {name: image, shape: [5, 6, 2]}
  - Conv2D: {name: stem, filters: 5, kernel_size: 3, padding: same, use_bias: false, kernel_regularizer: {L2: 0.01}}
  - BatchNormalization: {name: bn1, momentum: 0.9}
  - ReLU: {name: relu1}
  - MaxPooling2D: {name: pool}
  - Flatten
  - Dropout: 0.25
  - Dense: {name: hidden, units: 7, activation: relu}
  - Dense: {name: logits, units: 3, activation: softmax}
)";
/// Rows are independent, so that micro-batches add up to the batch.
inline constexpr const char* kSmallPlainNet = R"(
layers:
  - Input: {name: image, shape: [5, 6, 2]}
  - Conv2D: {name: stem, filters: 5, kernel_size: 3, padding: same, activation: relu}
  - MaxPooling2D: {name: pool}
  - Flatten
  - Dropout: 0.25
  - Dense: {name: logits, units: 3, activation: softmax}
)";
inline constexpr std::int64_t kSmallNetInput = 5 * 6 * 2;

/// "cpu", or "emu" with the index of an emulated GPU; replicas may share one.
inline std::unique_ptr<backend::Device> device_of(const std::string& name, int index, DType compute = DType::kF32) {
  if (name == "cpu") return backend::make_cpu_device(index, 1, {});
  return backend::make_emu_device(std::stoi(name.substr(4)), {.compute = compute, .tf32 = false});
}

inline plan::Plan small_plan(const graph::Model& model, const backend::Device& device, DType compute = DType::kF32) {
  plan::PlanOptions options = options_for("sparse_categorical_crossentropy", {"accuracy"});
  options.sync_batchnorm = true;
  options.bucket_bytes = options.first_bucket_bytes = 512;
  options.compute = compute;
  return plan::make_plan(model, options, device);
}

/// The largest difference of a weight relative to the largest value in its array.
inline double relative_distance(const graph::Model& a, const graph::Model& b) {
  double largest = 0;
  for (std::size_t w = 0; w < a.weights.size(); ++w) {
    double difference = 0, scale = 1e-3;  // lower bound, for weights close to zero (new biases)
    for (std::size_t i = 0; i < a.weights[w].values.size(); ++i) {
      const double x = double(a.weights[w].values[i]), y = double(b.weights[w].values[i]);
      difference = std::max(difference, nan_as_infinite(std::abs(x - y)));
      scale = std::max(scale, std::abs(x));
    }
    largest = std::max(largest, relative_difference(difference, scale));
  }
  return largest;
}

}  // namespace dptrain::test
