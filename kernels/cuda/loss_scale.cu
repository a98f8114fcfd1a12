#include "kernels/cuda/loss_scale.h"

#include <cfloat>

#include "kernels/cuda/flat.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// Sets the flag; the order of threads does not matter.
__device__ inline void note_infinite(bool found, LossScale* scale) {
  if (found) atomicOr(&scale->found_inf, 1);
}

__device__ inline bool is_finite(float x) { return fabsf(x) <= FLT_MAX; }

struct Unscale {
  LossScale* scale;
  float* g;
  float factor = 0;

  __device__ bool begin() {
    factor = 1.0F / scale->scale;
    return true;
  }
  template <int V>
  __device__ void run(std::int64_t i) const {
    Lanes<V> value = load<V>(g + i);
    bool found = false;
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) {
      found = found || !is_finite(value.v[k]);
      value.v[k] *= factor;
    }
    store<V>(value, g + i);
    note_infinite(found, scale);
  }
};

struct FindInfinite {
  const float* x;
  LossScale* scale;

  __device__ bool begin() const { return true; }
  template <int V>
  __device__ void run(std::int64_t i) const {
    const Lanes<V> value = load<V>(x + i);
    bool found = false;
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) found = found || !is_finite(value.v[k]);
    note_infinite(found, scale);
  }
};

__global__ void update_loss_scale_kernel(LossScale* scale) {
  LossScale next = *scale;
  if (next.found_inf != 0) {
    next.scale = next.scale * 0.5F < 1.0F ? 1.0F : next.scale * 0.5F;
    next.good_steps = 0;
    ++next.skipped;
  } else if (++next.good_steps >= kLossScaleGrowthSteps) {
    if (is_finite(next.scale * 2.0F)) next.scale *= 2.0F;
    next.good_steps = 0;
  }
  next.found_inf = 0;
  *scale = next;
}

__global__ void count_skipped_kernel(LossScale* scale) {
  if (scale->found_inf == 0) return;
  ++scale->skipped;
  scale->found_inf = 0;
}

__global__ void mark_not_finite_kernel(const double* value, float* gradient) {
  if (!(fabs(*value) <= DBL_MAX)) *gradient = static_cast<float>(*value - *value);
}

}  // namespace

void unscale(const Launch& at, LossScale* scale, std::int64_t n, float* g) {
  flat(at, Unscale{scale, g}, n, aligned(g));
}

void find_infinite(const Launch& at, const float* x, std::int64_t n, LossScale* scale) {
  flat(at, FindInfinite{x, scale}, n, aligned(x));
}

void count_skipped(const Launch& at, LossScale* scale) { DPTRAIN_LAUNCH_FLAT(at, count_skipped_kernel, 1, 1, scale); }

void mark_not_finite(const Launch& at, const double* value, float* gradient) {
  DPTRAIN_LAUNCH_FLAT(at, mark_not_finite_kernel, 1, 1, value, gradient);
}

void update_loss_scale(const Launch& at, LossScale* scale) {
  DPTRAIN_LAUNCH_FLAT(at, update_loss_scale_kernel, 1, 1, scale);
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
