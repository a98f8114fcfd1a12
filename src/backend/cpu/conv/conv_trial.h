#pragma once

// One pass of a convolution with tensors to run it on: what tuning and the kernel benchmarks time. Made and used on one
// thread.

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cpu/conv/conv_pass.h"
#include "backend/device.h"

namespace dptrain::backend::cpu {

class ConvTrial {
 public:
  /// Tensors of random numbers around zero. Throws Error{kMemory}.
  ConvTrial(ConvPassKind kind, const ConvShape& shape);

  const ConvShape& shape() const noexcept { return shape_; }
  double flops() const;  ///< of one run
  /// Room that a pass wants; before its first run.
  void make_room(const ConvPass& pass);
  void run(ConvPass& pass);
  /// What a run reads and writes.
  ConvTensors tensors() const;
  /// What a run has written: y, dx, or dweights with dbias behind them.
  std::vector<float> result() const;

 private:
  enum Tensor { kX, kY, kWeights, kBias, kTensors };
  float* values(Tensor tensor) const { return tensors_[tensor]->as<float>(); }

  ConvPassKind kind_;
  ConvShape shape_;
  std::unique_ptr<Buffer> tensors_[kTensors], taken_, scratch_;  // images and weights, or their gradients
};

/// Any numbers of [-1, 1) do: neither zeros nor denormals.
std::unique_ptr<Buffer> random_floats(std::int64_t n);

/// The shape with as many rows as a run of about so many operations has, at least 2 and at most its own.
ConvShape with_rows_for(ConvShape shape, double flops);

}  // namespace dptrain::backend::cpu
