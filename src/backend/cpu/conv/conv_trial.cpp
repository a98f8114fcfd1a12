#include "backend/cpu/conv/conv_trial.h"

#include <algorithm>
#include <cmath>

#include "backend/cpu/conv/conv_key.h"
#include "backend/cpu/cpu_device.h"

namespace dptrain::backend::cpu {
namespace {

std::unique_ptr<Buffer> memory(std::int64_t bytes) { return allocate_memory(static_cast<std::size_t>(bytes), "cpu"); }

}  // namespace

std::unique_ptr<Buffer> random_floats(std::int64_t n) {
  auto buffer = memory(n * static_cast<std::int64_t>(sizeof(float)));
  std::uint32_t state = 12345;
  float* const x = buffer->as<float>();
  for (std::int64_t i = 0; i < n; ++i) {
    state = state * 1664525U + 1013904223U;
    x[i] = static_cast<float>(state >> 8) * 0x1p-23F - 1.0F;
  }
  return buffer;
}

ConvTrial::ConvTrial(ConvPassKind kind, const ConvShape& s) : kind_(kind), shape_(s) {
  const std::int64_t outputs = (s.pool ? (s.out_h / 2) * (s.out_w / 2) : s.out_h * s.out_w) * s.out_channels * s.rows;
  tensors_[kX] = random_floats(s.rows * s.in_h * s.in_w * s.in_channels);
  tensors_[kY] = random_floats(outputs);
  tensors_[kWeights] = random_floats(s.weights());
  tensors_[kBias] = random_floats(s.out_channels);
  if (!s.pool) return;
  argmax_ = memory(outputs);
  auto* const argmax = argmax_->as<std::uint8_t>();
  for (std::int64_t i = 0; i < outputs; ++i) argmax[i] = static_cast<std::uint8_t>(i % 5);
}

double ConvTrial::flops() const { return flops_of(shape_) * static_cast<double>(shape_.rows); }

void ConvTrial::allocate_scratch(const ConvPass& pass) {
  if (!scratch_ || scratch_->bytes() < pass.scratch()) scratch_ = allocate_memory(pass.scratch(), "cpu");
}

void ConvTrial::run(ConvPass& pass) { pass.run(tensors(), scratch_->data()); }

ConvTensors ConvTrial::tensors() const {
  ConvTensors t;
  t.argmax = argmax_ ? argmax_->as<std::uint8_t>() : nullptr;
  switch (kind_) {
    case ConvPassKind::kForward:
      t.x = values(kX);
      t.weights = values(kWeights);
      if (shape_.bias) t.bias = values(kBias);
      t.y = values(kY);
      break;
    case ConvPassKind::kBackwardData:
      t.weights = values(kWeights);
      t.dy = values(kY);
      t.dx = values(kX);
      break;
    case ConvPassKind::kBackwardWeights:
      t.x = values(kX);
      t.dy = values(kY);
      t.dweights = values(kWeights);
      if (shape_.bias) t.dbias = values(kBias);
      break;
  }
  return t;
}

std::vector<float> ConvTrial::result() const {
  const auto all = [&](Tensor tensor) {
    const std::size_t n = tensors_[tensor]->bytes() / sizeof(float);
    return std::vector<float>(values(tensor), values(tensor) + n);
  };
  if (kind_ != ConvPassKind::kBackwardWeights) return all(kind_ == ConvPassKind::kForward ? kY : kX);
  std::vector<float> gradients = all(kWeights);
  if (!shape_.bias) return gradients;
  const std::vector<float> of_bias = all(kBias);
  gradients.insert(gradients.end(), of_bias.begin(), of_bias.end());
  return gradients;
}

ConvShape with_rows_for(ConvShape shape, double flops) {
  const auto enough = static_cast<std::int64_t>(std::ceil(flops / flops_of(shape)));
  shape.rows = std::min(shape.rows, std::max<std::int64_t>(2, enough));
  return shape;
}

}  // namespace dptrain::backend::cpu
