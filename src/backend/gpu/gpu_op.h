#pragma once

// GpuOp: a KernelOp with helpers for ops of GPUs.

#include <algorithm>

#include "backend/ops/kernel_op.h"
#include "kernels/cuda/elementwise.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

class GpuOp : public KernelOp {
 protected:
  using KernelOp::KernelOp;

  kernel::Launch at(const OpArgs& a) const { return launch(a); }

  /// Sets n >= 1 activations to zero; copies the first to the last if 16-bit elements do not fill the last float.
  void set_to_zero(const OpArgs& a, void* x, std::int64_t n) const {
    const std::int64_t size = static_cast<std::int64_t>(size_of(type_)), floats = size * n / 4;
    device_.fill(static_cast<float*>(x), std::max<std::int64_t>(1, floats), 0, *a.stream);
    if (floats > 0) kernel::copy(at(a), type_, x, static_cast<std::byte*>(x) + size * (n - 1), 1);
  }
};

}  // namespace dptrain::backend::DPTRAIN_BACKEND
