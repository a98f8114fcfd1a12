#include "kernels/cpu/winograd_gradient.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"
#include "kernels/cpu/winograd.h"
#include "kernels/cpu/winograd_grid.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/winograd_gradient.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/winograd_gradient-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

int64_t winograd_gradient(const WinogradGradient& gradient, int threads, float* workspace) {
  return with_tile(gradient.shape, [&](auto w) HWY_ATTR {
    const Gradient<decltype(w)> pass(gradient, threads, workspace);
    if (workspace != nullptr) pass.run();
    return pass.workspace();
  });
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(winograd_gradient);

int64_t winograd_backward_weights_workspace(const WinogradShape& shape, int64_t rows, int threads) {
  return HWY_DYNAMIC_DISPATCH(winograd_gradient)({.shape = shape, .rows = rows}, threads, nullptr);
}

void winograd_backward_weights(const WinogradShape& shape, const float* x, const float* dy, const uint8_t* argmax,
                               int64_t rows, float* workspace, float* dweights, float* dbias) {
  HWY_DYNAMIC_DISPATCH(winograd_gradient)
  ({.shape = shape, .rows = rows, .x = x, .dy = dy, .argmax = argmax, .dweights = dweights, .dbias = dbias},
   thread_count(), workspace);
}

}  // namespace dptrain::kernels::cpu
#endif
