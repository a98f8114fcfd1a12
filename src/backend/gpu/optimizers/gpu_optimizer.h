#pragma once

// What the optimizers' ops of the GPU device start from: what kernels/cuda/optimizer.h wants to know besides the
// optimizer's own numbers.

#include "backend/gpu/gpu_device.h"
#include "backend/optimizer_op.h"
#include "kernels/cuda/optimizer.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

class GpuOptimizer : public OptimizerOp {
 protected:
  GpuOptimizer(const nn::OptimizerCommon& common, const UpdateContext& context, Device& device)
      : device_(static_cast<GpuDevice&>(device)),
        weight_decay_(common.weight_decay.value_or(0)),
        compute_(context.plan.compute) {}

  kernel::Launch at(const OptimizerArgs& a) const { return device_.launch(a.stream); }
  static kernel::UpdateState state(const OptimizerArgs& a) { return {.step = a.state, .scale = a.buffers.loss_scale}; }
  kernel::UpdatedWeights weights(const OptimizerArgs& a) const {
    return {.w = a.buffers.weights, .compute = a.buffers.compute, .compute_type = compute_};
  }

  GpuDevice& device_;
  const double weight_decay_;  // 0: none

 private:
  const DType compute_;
};

}  // namespace dptrain::backend::DPTRAIN_BACKEND
