#pragma once

// Common parts of all optimizer updates, which are passes of flat.h derived from Common. Only for .cu files. The host
// rounds constants to float; every thread rounds rates from double, as the CPU device does.

#include "kernels/cuda/flat.h"
#include "kernels/cuda/optimizer.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

__device__ inline bool is_skipped(const LossScale* scale) { return scale != nullptr && scale->found_inf != 0; }

/// Number of updates before this step.
__device__ inline std::int64_t updates_before(const UpdateState& state) {
  return state.step->step - (state.scale == nullptr ? 0 : state.scale->skipped);
}

/// Gradients, weights with decay, and the copy in the compute type.
struct Common {
  UpdateState state;
  const float* g;
  UpdatedWeights weights;
  double weight_decay;
  float rate = 0, decay = 0;

  __device__ bool begin() {
    if (is_skipped(state.scale)) return false;
    rate = static_cast<float>(state.step->learning_rate);
    decay = static_cast<float>(state.step->learning_rate * weight_decay);
    return true;
  }

  __device__ float decayed(float w) const { return fmaf(-decay, w, w); }

  template <int V>
  __device__ void write(const Lanes<V>& w, std::int64_t i) const {
    store<V>(w, weights.w + i);
    if (weights.compute == nullptr) return;
    if (weights.compute_type == DType::kBf16) store<V>(w, static_cast<bf16*>(weights.compute) + i);
    if (weights.compute_type == DType::kF16) store<V>(w, static_cast<half*>(weights.compute) + i);
    if (weights.compute_type == DType::kF32) store<V>(w, static_cast<float*>(weights.compute) + i);
  }
};

inline Common common_of(const UpdateState& state, const float* g, const UpdatedWeights& weights, double weight_decay) {
  return {.state = state, .g = g, .weights = weights, .weight_decay = weight_decay};
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
