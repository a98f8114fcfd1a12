#pragma once

// A batch of random rows for the toy model, and the result of a few optimizer steps on it.

#include <algorithm>
#include <vector>

#include "core/floats.h"
#include "core/random.h"
#include "plan/sample_models.h"
#include "runtime/replica_set.h"
#include "runtime/toy_device.h"

namespace dptrain::test {

struct SampleBatch {
  SampleBatch(std::int64_t rows_, std::int64_t width, std::int32_t classes, std::uint64_t seed = 3) : rows(rows_) {
    RandomStream random(seed, 77);
    for (std::int64_t i = 0; i < rows * width; ++i) inputs.push_back(static_cast<float>(random.normal()));
    for (std::int64_t i = 0; i < rows; ++i)
      labels.push_back(static_cast<std::int32_t>(random.below(std::uint64_t(classes))));
  }
  BatchView view() const {
    return {.rows = rows,
            .inputs = {column(inputs.data(), static_cast<std::int64_t>(inputs.size()) / rows)},
            .labels = {column(labels.data())}};
  }

  std::int64_t rows;
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
};

inline plan::Plan toy_plan(const graph::Model& model, std::uint64_t bucket_bytes = 25U << 20) {
  plan::PlanOptions options = options_for("sparse_categorical_crossentropy", {"accuracy"});
  options.bucket_bytes = options.first_bucket_bytes = bucket_bytes;
  return plan::make_plan(model, options, ToyDevice(0));
}

inline config::Typed sgd() { return value_of(nn::optimizer_family(), "SGD: {momentum: 0.9}"); }

inline std::vector<std::unique_ptr<backend::Device>> toy_devices(int count, ToyDevice::Switches switches = {}) {
  std::vector<std::unique_ptr<backend::Device>> devices;
  for (int i = 0; i < count; ++i) devices.push_back(std::make_unique<ToyDevice>(i, switches));
  return devices;
}

/// Largest |a - b| over all weights.
inline double distance(const graph::Model& a, const graph::Model& b) {
  double largest = 0;
  for (std::size_t w = 0; w < a.weights.size(); ++w)
    for (std::size_t i = 0; i < a.weights[w].values.size(); ++i) {
      const double d = std::abs(double(a.weights[w].values[i]) - double(b.weights[w].values[i]));
      largest = std::max(largest, nan_as_infinite(d));
    }
  return largest;
}

}  // namespace dptrain::test
