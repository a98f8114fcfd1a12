#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"
#include "kernels/cpu/winograd.h"
#include "kernels/cpu/winograd_gradient.h"
#include "kernels/cpu/winograd_grid.h"
#include "kernels/cpu/winograd_images.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/winograd_backward.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/winograd_gradient-inl.h"
#include "kernels/cpu/winograd_images-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Both gradients in one pass: they share the points A dY A' while these are in the L2 cache. A piece of the batch sums
/// its weight gradient and completes the data gradients of its images.
template <class W>
class Backward {
 public:
  Backward(const WinogradGradient& gradient, const WinogradImages& images, int threads, float* workspace)
      : gradient_(gradient, threads, workspace, true),
        images_(images, threads, workspace == nullptr ? nullptr : workspace + gradient_.workspace(),
                gradient_.points_of_dy()) {}

  /// Whether both passes have the same tiles, there are enough pieces of whole images, and everything fits the caches.
  bool is_faster(const WinogradShape& s, int threads) const {
    const int64_t filters = W::kPoints * W::kPoints * s.in_channels * s.out_channels;
    return filters * static_cast<int64_t>(sizeof(float)) <= kSharingFilters && gradient_.whole_pieces() >= threads &&
           gradient_.grid().total == images_.grid().total;
  }
  int64_t workspace() const { return gradient_.workspace() + images_.workspace(); }

  void run() const {
    images_.transform_all_filters();
    gradient_.run([&](int64_t first, int64_t count, const float* points, int slot)
                      HWY_ATTR { images_.finish(first, count, points, slot); });
  }

 private:
  const Gradient<W> gradient_;
  const Images<W, true> images_;
};

int64_t winograd_both(const WinogradGradient& gradient, const WinogradImages& images, int threads, float* workspace) {
  return with_tile(gradient.shape, [&](auto w) HWY_ATTR -> int64_t {
    const Backward<decltype(w)> pass(gradient, images, threads, workspace);
    if (workspace != nullptr) pass.run();
    return pass.is_faster(gradient.shape, threads) ? pass.workspace() : 0;
  });
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(winograd_both);

int64_t winograd_backward_workspace(const WinogradShape& shape, int64_t rows, int threads) {
  return HWY_DYNAMIC_DISPATCH(winograd_both)({.shape = shape, .rows = rows}, {.shape = shape, .rows = rows}, threads,
                                             nullptr);
}

void winograd_backward(const WinogradShape& shape, const float* x, const float* dy, const uint8_t* argmax,
                       const float* weights, int64_t rows, float* workspace, float* dx, float* dweights, float* dbias) {
  HWY_DYNAMIC_DISPATCH(winograd_both)
  ({.shape = shape, .rows = rows, .x = x, .dy = dy, .argmax = argmax, .dweights = dweights, .dbias = dbias},
   {.shape = shape, .rows = rows, .in = dy, .weights = weights, .argmax_in = argmax, .out = dx}, thread_count(),
   workspace);
}

}  // namespace dptrain::kernels::cpu
#endif
