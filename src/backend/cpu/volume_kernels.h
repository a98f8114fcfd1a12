#pragma once

// What Conv3D and Conv3DTranspose call on the CPU (backend/conv3d_op.h, backend/conv3d_transpose_op.h).

#include "backend/cpu/workspace.h"
#include "backend/device.h"
#include "backend/ops/activations.h"
#include "kernels/cpu/depth_slabs.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::backend::cpu {

class VolumeKernels {
 public:
  VolumeKernels(const OpContext& context, Device&) : epilogue_(context) {}

  void gather_slabs(const OpArgs& a, const kernels::DepthWindow& window, const void* volume, void* slabs) const {
    kernels::cpu::gather_slabs(window, static_cast<const float*>(volume), a.rows, static_cast<float*>(slabs));
  }
  void sum_slabs(const OpArgs& a, const kernels::DepthWindow& window, const void* slabs, void* volume) const {
    kernels::cpu::sum_slabs(window, static_cast<const float*>(slabs), a.rows, static_cast<float*>(volume));
  }
  void bias_add(const OpArgs& a, void* y, const float* bias, std::int64_t positions, std::int64_t width) const {
    kernels::cpu::bias_add(static_cast<const float*>(y), bias, a.rows * positions, width, static_cast<float*>(y));
  }
  static std::uint64_t bias_workspace(std::int64_t rows, std::int64_t positions, std::int64_t width) {
    return workspace_bytes(rows,
                           [=](std::int64_t r) { return kernels::cpu::bias_gradient_workspace(r * positions, width); });
  }
  void bias_gradient(const OpArgs& a, const void* dy, std::int64_t positions, std::int64_t width, void* workspace,
                     float* gradient) const {
    kernels::cpu::bias_gradient(static_cast<const float*>(dy), a.rows * positions, width,
                                static_cast<float*>(workspace), gradient);
  }
  void apply(const OpArgs& a) const { epilogue_.apply({}, a.out(), a.rows); }
  void undo(const OpArgs& a) const { epilogue_.undo({}, a.out(), a.dy(), a.rows); }

 private:
  Epilogue epilogue_;
};

}  // namespace dptrain::backend::cpu
