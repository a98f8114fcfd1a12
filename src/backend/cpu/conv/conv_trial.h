#pragma once

// ConvTrial: one pass of a convolution with its tensors, for tuning and the kernel benchmarks. Used on one thread.

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
  double flops() const;  ///< operations in a run
  /// Allocates the scratch of `pass`; call it before the first run.
  void allocate_scratch(const ConvPass& pass);
  void run(ConvPass& pass);
  ConvTensors tensors() const;
  /// Output of the last run: y, dx, or dweights followed by dbias.
  std::vector<float> result() const;

 private:
  enum Tensor { kX, kY, kWeights, kBias, kTensors };
  float* values(Tensor tensor) const { return tensors_[tensor]->as<float>(); }

  ConvPassKind kind_;
  ConvShape shape_;
  std::unique_ptr<Buffer> tensors_[kTensors], argmax_, scratch_;  // images and weights, or their gradients
};

/// Pseudo-random numbers in [-1, 1) from a fixed seed, without subnormals.
std::unique_ptr<Buffer> random_floats(std::int64_t n);

/// Reduces the rows so that a run has about `flops` operations, to no fewer than 2.
ConvShape with_rows_for(ConvShape shape, double flops);

}  // namespace dptrain::backend::cpu
