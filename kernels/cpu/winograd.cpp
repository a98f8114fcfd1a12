#include "kernels/cpu/winograd.h"

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"
#include "kernels/cpu/winograd_grid.h"
#include "kernels/cpu/winograd_images.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/winograd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/winograd_images-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Runs the pass; returns the floats of workspace it needs. Without a workspace it only does the latter.
template <bool kBackward>
int64_t images(const WinogradImages& images, int threads, float* workspace) {
  return with_tile(images.shape, [&](auto w) HWY_ATTR {
    const Images<decltype(w), kBackward> pass(images, threads, workspace);
    if (workspace != nullptr) pass.run();
    return pass.workspace();
  });
}

int64_t winograd_forward_images(const WinogradImages& given, int threads, float* workspace) {
  return images<false>(given, threads, workspace);
}
int64_t winograd_backward_images(const WinogradImages& given, int threads, float* workspace) {
  return images<true>(given, threads, workspace);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(winograd_forward_images);
HWY_EXPORT(winograd_backward_images);

const char* winograd_tile(const WinogradShape& shape) { return facts_of(tile_of(shape)).name; }

int64_t winograd_products(const WinogradShape& shape) { return products_of(shape, facts_of(tile_of(shape)).side); }

int64_t winograd_forward_workspace(const WinogradShape& shape, int64_t rows, int threads) {
  return HWY_DYNAMIC_DISPATCH(winograd_forward_images)({.shape = shape, .rows = rows}, threads, nullptr);
}

int64_t winograd_backward_data_workspace(const WinogradShape& shape, int64_t rows, int threads) {
  return HWY_DYNAMIC_DISPATCH(winograd_backward_images)({.shape = shape, .rows = rows}, threads, nullptr);
}

void winograd_forward(const WinogradShape& shape, const float* x, const float* weights, const float* bias, int64_t rows,
                      float* workspace, float* y, uint8_t* argmax) {
  HWY_DYNAMIC_DISPATCH(winograd_forward_images)
  ({.shape = shape, .rows = rows, .in = x, .weights = weights, .bias = bias, .out = y, .argmax_out = argmax},
   thread_count(), workspace);
}

void winograd_backward_data(const WinogradShape& shape, const float* dy, const uint8_t* argmax, const float* weights,
                            int64_t rows, float* workspace, float* dx) {
  HWY_DYNAMIC_DISPATCH(winograd_backward_images)
  ({.shape = shape, .rows = rows, .in = dy, .weights = weights, .argmax_in = argmax, .out = dx}, thread_count(),
   workspace);
}

}  // namespace dptrain::kernels::cpu
#endif
