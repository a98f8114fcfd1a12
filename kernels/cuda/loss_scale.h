#pragma once

// Steps whose gradients are not finite, and dynamic loss scaling (kernels/step_state.h): a step's gradients are looked
// through, and unscaled; the optimizer's passes read found_inf, and the account is brought up to date last. All
// pointers are device memory; queued on the launch's stream; nothing waits for the host.

#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/step_state.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// Good steps after which the scale is doubled, as in Keras.
inline constexpr std::int32_t kLossScaleGrowthSteps = 2000;

/// g /= scale->scale. scale->found_inf = 1 if any of the g was infinite or NaN, otherwise it is left as it is:
/// update_loss_scale clears it. Call on gradients after the all-reduce, so that all replicas agree.
void unscale(const Launch& at, LossScale* scale, std::int64_t n, float* g);

/// Sets scale->found_inf to 1 if any of x is infinite or NaN; x is not changed.
void find_infinite(const Launch& at, const float* x, std::int64_t n, LossScale* scale);

/// *gradient = NaN where *value is infinite or NaN.
void taint(const Launch& at, const double* value, float* gradient);

/// After the optimizer, without loss scaling: a step with found_inf counts as skipped. Clears found_inf.
void count_skipped(const Launch& at, LossScale* scale);

/// After the optimizer: with found_inf the scale is halved (never below 1) and the step counts as skipped; after
/// kLossScaleGrowthSteps good steps it is doubled (as long as that is finite). Clears found_inf.
void update_loss_scale(const Launch& at, LossScale* scale);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
