#pragma once

// The op of Conv2D and Dense: both are convolutions of gpu::Convolution. Bias and ReLU are part of forward; another
// epilogue follows in place. Backward undoes the epilogue in the output's gradient, in one pass with the bias's gradient
// where it is a ReLU. In 16 bits the filter's gradient comes rounded to the type and is written to the arena as floats.

#include <memory>
#include <string>
#include <vector>

#include "device/gpu/activation.h"
#include "device/gpu/convolution.h"
#include "device/gpu/gpu_op.h"

namespace dptrain::device::DPTRAIN_GPU {

class ConvolutionOp : public GpuOp {
 public:
  void prepare(std::int64_t rows) override;
  plan::Need need() const override { return {.saved = 0, .scratch = planned_}; }
  std::string implementation() const override { return implementation_; }
  void forward(const OpArgs& a) override;
  void backward(const OpArgs& a) override;
  std::pair<double, double> flops_per_sample() const override;

 protected:
  /// `sample`: what one sample is, its `rows` images or points; type and relu are set here.
  ConvolutionOp(const gpu::ConvProblem& sample, const OpContext& context, Device& device);

 private:
  /// What one number of rows needs. A set that was not prepared before memory was planned has memory of its own, so that
  /// no call has to wait for another's.
  struct Set {
    std::int64_t rows = 0;
    std::unique_ptr<gpu::Convolution> convolution;
    std::uint64_t scratch = 0;
    std::unique_ptr<Buffer> own;
  };

  Set& at_rows(std::int64_t rows);
  std::byte* room(Set& set, void* of_plan);
  std::uint64_t rounded_filter_bytes() const;
  void differentiate_bias(const OpArgs& a, std::byte* scratch);

  gpu::ConvProblem sample_;
  Epilogue epilogue_;
  bool wants_dx_, wants_dweights_;
  std::vector<std::unique_ptr<Set>> sets_;
  std::uint64_t planned_ = 0;  // bytes of scratch that need() has told of
  std::string implementation_;
};

}  // namespace dptrain::device::DPTRAIN_GPU
