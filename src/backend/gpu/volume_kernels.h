#pragma once

// What Conv3D and Conv3DTranspose call on a GPU (backend/conv3d_op.h, backend/conv3d_transpose_op.h).

#include "backend/gpu/gpu_device.h"
#include "backend/ops/activations.h"
#include "kernels/cuda/bias.h"
#include "kernels/cuda/depth_slabs.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

class VolumeKernels {
 public:
  VolumeKernels(const OpContext& context, Device& device)
      : device_(static_cast<GpuDevice&>(device)), type_(context.plan.compute), epilogue_(context) {}

  void gather_slabs(const OpArgs& a, const kernels::DepthWindow& window, const void* volume, void* slabs) const {
    kernel::gather_slabs(device_.launch(*a.stream), type_, window, volume, a.rows, slabs);
  }
  void sum_slabs(const OpArgs& a, const kernels::DepthWindow& window, const void* slabs, void* volume) const {
    kernel::sum_slabs(device_.launch(*a.stream), type_, window, slabs, a.rows, volume);
  }
  void bias_add(const OpArgs& a, void* y, const float* bias, std::int64_t positions, std::int64_t width) const {
    kernel::bias_add(device_.launch(*a.stream), type_, y, bias, a.rows * positions, width, y);
  }
  static std::uint64_t bias_workspace(std::int64_t rows, std::int64_t positions, std::int64_t width) {
    return static_cast<std::uint64_t>(kernel::bias_gradient_workspace(rows * positions, width)) * sizeof(float);
  }
  void bias_gradient(const OpArgs& a, const void* dy, std::int64_t positions, std::int64_t width, void* workspace,
                     float* gradient) const {
    kernel::bias_gradient(device_.launch(*a.stream), type_, dy, a.rows * positions, width,
                          static_cast<float*>(workspace), gradient);
  }
  void apply(const OpArgs& a) const { epilogue_.apply(device_.launch(*a.stream), a.out<void>(), a.rows); }
  void undo(const OpArgs& a) const { epilogue_.undo(device_.launch(*a.stream), a.out<void>(), a.dy<void>(), a.rows); }

 private:
  GpuDevice& device_;
  DType type_;  // of activations
  Epilogue epilogue_;
};

}  // namespace dptrain::backend::DPTRAIN_BACKEND
