#pragma once

// The op of Conv2D and Dense: both are convolutions of gpu::Convolution. Bias and ReLU are part of forward; another
// epilogue follows in place. Backward undoes the epilogue in the output's gradient, in one pass with the bias's
// gradient where it is a ReLU. In 16 bits the filter's gradient comes rounded to the type and is written to the arena
// as floats.

#include <string>

#include "backend/gpu/conv_sets.h"
#include "backend/gpu/gpu_op.h"
#include "backend/ops/activations.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

class ConvolutionOp : public GpuOp {
 public:
  void prepare(std::int64_t rows) override { sets_.prepare(rows); }
  plan::Need need() const override { return {.saved = 0, .scratch = sets_.planned()}; }
  std::string implementation() const override { return sets_.name(); }
  void forward(const OpArgs& a) override;
  void backward(const OpArgs& a) override;
  std::pair<double, double> flops_per_sample() const override;

 protected:
  /// `sample`: what one sample is, its `rows` images or points; type and relu are set here.
  ConvolutionOp(const gpu::ConvProblem& sample, const OpContext& context, Device& device);

 private:
  void differentiate_bias(const OpArgs& a, std::byte* scratch);

  Epilogue epilogue_;
  ConvSets sets_;
};

}  // namespace dptrain::backend::DPTRAIN_BACKEND
