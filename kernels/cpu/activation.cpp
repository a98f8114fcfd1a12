#include "kernels/cpu/activation.h"

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/activation.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Keras's layer ReLU.
struct BoundedRelu {
  Vec max_value, negative_slope, threshold;
  HWY_INLINE Vec value(Vec x) const {
    const Vec below = hn::Mul(negative_slope, hn::Sub(x, threshold));
    return hn::IfThenElse(hn::Ge(x, max_value), max_value, hn::IfThenElse(hn::Gt(x, threshold), x, below));
  }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const {
    const Vec inside = hn::IfThenElse(hn::Gt(x, threshold), dy, hn::Mul(negative_slope, dy));
    return hn::IfThenZeroElse(hn::Ge(x, max_value), inside);
  }
};

HWY_INLINE BoundedRelu bounded_relu(const ReluLayer& layer) {
  return {splat(layer.max_value), splat(layer.negative_slope), splat(layer.threshold)};
}

void relu_layer_forward_piece(const ReluLayer& layer, const float* x, float* y, int64_t n) {
  const BoundedRelu function = bounded_relu(layer);
  map(
      n, y, [&](Vec v) HWY_ATTR { return function.value(v); }, x);
}

void relu_layer_backward_piece(const ReluLayer& layer, const float* x, const float* dy, float* dx, int64_t n) {
  const BoundedRelu function = bounded_relu(layer);
  map(
      n, dx, [&](Vec v, Vec g) HWY_ATTR { return function.from_input(v, g); }, x, dy);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(forward_piece);
HWY_EXPORT(backward_from_input_piece);
HWY_EXPORT(backward_from_output_piece);
HWY_EXPORT(relu_layer_forward_piece);
HWY_EXPORT(relu_layer_backward_piece);

void activation_forward(const Launch&, DType, Activation kind, float alpha, const float* x, float* y, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(forward_piece)(kind, alpha, x + begin, y + begin, end - begin);
  });
}

void activation_backward_from_output(const Launch&, DType, Activation kind, float alpha, const float* y,
                                     const float* dy, float* dx, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(backward_from_output_piece)(kind, alpha, y + begin, dy + begin, dx + begin, end - begin);
  });
}

void activation_backward_from_input(const Launch&, DType, Activation kind, float alpha, const float* x, const float* dy,
                                    float* dx, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(backward_from_input_piece)(kind, alpha, x + begin, dy + begin, dx + begin, end - begin);
  });
}

void relu_layer_forward(const Launch&, DType, const ReluLayer& layer, const float* x, float* y, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(relu_layer_forward_piece)(layer, x + begin, y + begin, end - begin);
  });
}

void relu_layer_backward(const Launch&, DType, const ReluLayer& layer, const float* x, const float* dy, float* dx,
                         int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(relu_layer_backward_piece)(layer, x + begin, dy + begin, dx + begin, end - begin);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
