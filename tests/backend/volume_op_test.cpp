// Layers over volumes computed in passes; Keras's values of each are in tests/golden/layers_of_volumes.json.

#include "backend/volume_op.h"

#include <gtest/gtest.h>

#include <limits>

#include "backend/harness.h"
#include "core/error.h"
#include "nn/pooling.h"

namespace dptrain::test {
namespace {

using nn::Padding;
using nn::Size3;

/// Calls f(output index, input index) for every output of [N, D, H, W, C] and every input in its window.
template <class Spec, class F>
Tensor over_windows(const Spec& spec, const Tensor& x, double start, const F& f) {
  const Size3 k = spec.pool_size, s = spec.strides.value_or(k);
  const nn::WindowAxis d = nn::window_axis(x.dim(1), k.d, s.d, 1, spec.padding),
                       h = nn::window_axis(x.dim(2), k.h, s.h, 1, spec.padding),
                       w = nn::window_axis(x.dim(3), k.w, s.w, 1, spec.padding);
  Tensor y({x.dim(0), d.out, h.out, w.out, x.dim(4)}, start);
  std::size_t out = 0;
  for (std::int64_t n = 0; n < y.dim(0); ++n)
    for (std::int64_t od = 0; od < d.out; ++od)
      for (std::int64_t oh = 0; oh < h.out; ++oh)
        for (std::int64_t ow = 0; ow < w.out; ++ow)
          for (std::int64_t c = 0; c < x.dim(4); ++c, ++out) {
            std::vector<double> window;
            for (std::int64_t i = 0; i < k.d * k.h * k.w; ++i) {
              const std::int64_t id = od * s.d + i / (k.h * k.w) - d.pad_before,
                                 ih = oh * s.h + i / k.w % k.h - h.pad_before, iw = ow * s.w + i % k.w - w.pad_before;
              if (id >= 0 && id < x.dim(1) && ih >= 0 && ih < x.dim(2) && iw >= 0 && iw < x.dim(3))
                window.push_back(x(n, id, ih, iw, c));
            }
            y.values[out] = f(window);
          }
  return y;
}

template <class Spec, class F>
void check_pool3d(const Spec& spec, const Shape& in, bool undoes_relu, const F& f) {
  Case c;
  c.layer = layer(spec);
  c.inputs = {in};
  if (undoes_relu) c.undoes = tail_of(nn::Activation::kRelu).front();
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    return over_windows(spec, inputs[0], 0, f);
  });
}

void check_max_pool3d(const nn::MaxPooling3DSpec& spec, const Shape& in, bool undoes_relu = false) {
  check_pool3d(spec, in, undoes_relu,
               [](const std::vector<double>& window) { return *std::ranges::max_element(window); });
}

void check_average_pool3d(const nn::AveragePooling3DSpec& spec, const Shape& in) {
  check_pool3d(spec, in, false, [](const std::vector<double>& window) {
    double sum = 0;
    for (const double value : window) sum += value;
    return sum / static_cast<double>(window.size());
  });
}

TEST(VolumeOp, MaxPooling) {
  check_max_pool3d({.pool_size = {2, 2, 2}, .strides = {}}, {3, 5, 4, 3});
  check_max_pool3d({.pool_size = {1, 2, 2}, .strides = {}}, {3, 4, 4, 8});
  check_max_pool3d({.pool_size = {3, 1, 1}, .strides = Size3{2, 1, 1}}, {5, 2, 3, 4});
  check_max_pool3d({.pool_size = {3, 2, 3}, .strides = Size3{2, 1, 2}, .padding = Padding::kSame}, {4, 3, 5, 5});
}

/// The last pass does.
TEST(VolumeOp, MaxPoolingUndoesTheReluBelow) {
  check_max_pool3d({.pool_size = {2, 2, 2}, .strides = {}}, {4, 4, 4, 3}, true);
  check_max_pool3d({.pool_size = {1, 2, 2}, .strides = {}}, {2, 4, 4, 3}, true);
  check_max_pool3d({.pool_size = {2, 1, 1}, .strides = {}}, {4, 2, 2, 3}, true);
}

TEST(VolumeOp, AveragePooling) {
  check_average_pool3d({.pool_size = {2, 2, 2}, .strides = {}}, {3, 5, 4, 3});
  check_average_pool3d({.pool_size = {3, 3, 2}, .strides = Size3{2, 1, 2}, .padding = Padding::kSame}, {4, 3, 5, 5});
}

TEST(VolumeOp, RejectsWindowsBeyondAByte) {
  Case c;
  c.inputs = {{300, 16, 16, 1}};
  for (const Size3 size : {Size3{256, 1, 1}, Size3{1, 16, 16}}) {
    c.layer = layer(nn::MaxPooling3DSpec{.pool_size = size, .strides = {}});
    for (const auto& device : devices()) EXPECT_THROW(implementation(*device, c), Error) << device->name();
  }
}

}  // namespace
}  // namespace dptrain::test
