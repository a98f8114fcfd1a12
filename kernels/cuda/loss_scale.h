#pragma once

// Steps with gradients that are not finite, and dynamic loss scaling (kernels/step_state.h). Gradients are checked and
// unscaled first. The optimizer's passes read found_inf; the state is updated last, without waiting for the host.

#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/step_state.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

inline constexpr std::int32_t kLossScaleGrowthSteps = 2000;

/// g /= scale->scale. Sets scale->found_inf to 1 if any g is not finite. Call after the all-reduce: all replicas agree.
void unscale(const Launch& at, LossScale* scale, std::int64_t n, float* g);

/// Sets scale->found_inf to 1 if any of x is infinite or NaN; x is not changed.
void find_infinite(const Launch& at, const float* x, std::int64_t n, LossScale* scale);

/// Sets *gradient to NaN if *value is infinite or NaN.
void mark_not_finite(const Launch& at, const double* value, float* gradient);

/// After the optimizer, without loss scaling: counts a step with found_inf as skipped and clears found_inf.
void count_skipped(const Launch& at, LossScale* scale);

/// After the optimizer: with found_inf halves the scale (to at least 1) and counts the step as skipped. After
/// kLossScaleGrowthSteps good steps doubles the scale if that is finite, as in Keras. Clears found_inf.
void update_loss_scale(const Launch& at, LossScale* scale);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
