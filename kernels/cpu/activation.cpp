#include "kernels/cpu/activation.h"

#include <cmath>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/activation.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

// keras.activations.selu.
inline constexpr float kSeluScale = 1.0507009873554805F;
inline constexpr float kSeluAlpha = 1.6732632423543772F;

HWY_INLINE auto positive(Vec x) { return hn::Gt(x, hn::Zero(kFloats)); }

// Each kind: its value, and dy times its derivative, from the input and, where the output tells it, from the output.

struct Linear {
  HWY_INLINE Vec value(Vec x) const { return x; }
  HWY_INLINE Vec from_input(Vec, Vec dy) const { return dy; }
  HWY_INLINE Vec from_output(Vec, Vec dy) const { return dy; }
};

struct Relu {
  HWY_INLINE Vec value(Vec x) const { return hn::IfThenZeroElse(hn::Le(x, hn::Zero(kFloats)), x); }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const { return hn::IfThenElseZero(positive(x), dy); }
  HWY_INLINE Vec from_output(Vec y, Vec dy) const { return from_input(y, dy); }
};

struct Relu6 {
  HWY_INLINE Vec value(Vec x) const {
    const Vec six = splat(6.0F);
    return hn::IfThenElse(hn::Gt(x, six), six, Relu{}.value(x));
  }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const {
    return hn::IfThenElseZero(hn::And(positive(x), hn::Lt(x, splat(6.0F))), dy);
  }
  HWY_INLINE Vec from_output(Vec y, Vec dy) const { return from_input(y, dy); }
};

struct LeakyRelu {
  Vec slope;
  HWY_INLINE Vec value(Vec x) const { return from_input(x, x); }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const { return hn::IfThenElse(positive(x), dy, hn::Mul(slope, dy)); }
  HWY_INLINE Vec from_output(Vec y, Vec dy) const { return from_input(y, dy); }
};

/// scale (x > 0 ? x : alpha (e^x - 1)).
struct ScaledElu {
  Vec scale;
  Vec scaled_alpha;
  HWY_INLINE Vec value(Vec x) const {
    const Vec below = expm1_of_negative(not_above_zero(x));
    return hn::IfThenElse(positive(x), hn::Mul(scale, x), hn::Mul(scaled_alpha, below));
  }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const {
    const Vec below = exp_of_negative(not_above_zero(x));
    return hn::Mul(dy, hn::IfThenElse(positive(x), scale, hn::Mul(scaled_alpha, below)));
  }
  HWY_INLINE Vec from_output(Vec y, Vec dy) const {
    return hn::Mul(dy, hn::IfThenElse(positive(y), scale, hn::Add(y, scaled_alpha)));
  }

 private:
  static HWY_INLINE Vec not_above_zero(Vec x) { return hn::IfThenZeroElse(positive(x), x); }
};

struct Swish {
  HWY_INLINE Vec value(Vec x) const { return hn::Mul(x, logistic(x)); }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const {
    const Vec s = logistic(x);
    return hn::Mul(dy, hn::MulAdd(hn::Mul(x, s), hn::Sub(splat(1.0F), s), s));
  }
};

/// x/2 (1 + tanh u) = x logistic(2u), with u = sqrt(2/pi) (x + 0.044715 x^3).
struct GeluTanh {
  static constexpr float kTwoSlope = 1.5957691216057308F;  // 2 sqrt(2/pi)
  static constexpr float kCubic = 0.044715F;
  HWY_INLINE Vec gate(Vec x) const {
    return logistic(hn::Mul(hn::Mul(splat(kTwoSlope), x), hn::MulAdd(hn::Mul(x, x), splat(kCubic), splat(1.0F))));
  }
  HWY_INLINE Vec value(Vec x) const { return hn::Mul(x, gate(x)); }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const {
    const Vec s = gate(x);
    const Vec slope = hn::Mul(splat(kTwoSlope), hn::MulAdd(hn::Mul(x, x), splat(3.0F * kCubic), splat(1.0F)));
    const Vec curve = hn::Mul(hn::Mul(hn::Mul(x, s), hn::Sub(splat(1.0F), s)), slope);
    return hn::Mul(dy, hn::Add(s, curve));
  }
};

struct Tanh {
  HWY_INLINE Vec value(Vec x) const { return hyperbolic_tangent(x); }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const { return from_output(value(x), dy); }
  HWY_INLINE Vec from_output(Vec y, Vec dy) const {
    return hn::Mul(dy, hn::Mul(hn::Sub(splat(1.0F), y), hn::Add(splat(1.0F), y)));
  }
};

struct Sigmoid {
  HWY_INLINE Vec value(Vec x) const { return logistic(x); }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const { return from_output(value(x), dy); }
  HWY_INLINE Vec from_output(Vec y, Vec dy) const { return hn::Mul(dy, hn::Mul(y, hn::Sub(splat(1.0F), y))); }
};

struct Softplus {
  HWY_INLINE Vec value(Vec x) const { return log_one_plus_exp(x); }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const { return hn::Mul(dy, logistic(x)); }
  HWY_INLINE Vec from_output(Vec y, Vec dy) const { return hn::Mul(dy, hn::Neg(expm1_of_negative(hn::Neg(y)))); }
};

/// The layer ReLU.
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

HWY_INLINE ScaledElu elu(float alpha) { return {splat(1.0F), splat(alpha)}; }
HWY_INLINE ScaledElu selu() { return {splat(kSeluScale), splat(kSeluScale * kSeluAlpha)}; }

/// Calls f with the kind's functions; the exact gelu, which is not vectorised, is the caller's.
template <class F>
HWY_INLINE void with_kind(Activation kind, float alpha, const F& f) {
  switch (kind) {
    case Activation::linear: return f(Linear{});
    case Activation::relu: return f(Relu{});
    case Activation::relu6: return f(Relu6{});
    case Activation::leaky_relu: return f(LeakyRelu{splat(alpha)});
    case Activation::elu: return f(elu(alpha));
    case Activation::selu: return f(selu());
    case Activation::gelu_tanh: return f(GeluTanh{});
    case Activation::swish: return f(Swish{});
    case Activation::tanh: return f(Tanh{});
    case Activation::sigmoid: return f(Sigmoid{});
    case Activation::softplus: return f(Softplus{});
    case Activation::gelu: return;
  }
}

void forward_piece(Activation kind, float alpha, const float* x, float* y, int64_t n) {
  with_kind(kind, alpha, [&](const auto& function) HWY_ATTR {
    map(
        n, y, [&](Vec v) HWY_ATTR { return function.value(v); }, x);
  });
}

void backward_from_input_piece(Activation kind, float alpha, const float* x, const float* dy, float* dx, int64_t n) {
  with_kind(kind, alpha, [&](const auto& function) HWY_ATTR {
    map(
        n, dx, [&](Vec v, Vec g) HWY_ATTR { return function.from_input(v, g); }, x, dy);
  });
}

void backward_from_output_piece(Activation kind, float alpha, const float* y, const float* dy, float* dx, int64_t n) {
  with_kind(kind, alpha, [&](const auto& function) HWY_ATTR {
    if constexpr (requires(Vec v) { function.from_output(v, v); })
      map(
          n, dx, [&](Vec v, Vec g) HWY_ATTR { return function.from_output(v, g); }, y, dy);
  });
}

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

namespace {

// The exact gelu goes through the standard library's erfc, which keeps its accuracy where 1 + erf would lose it.
constexpr float kSqrtHalf = 0.70710678118654752F;
constexpr float kInverseSqrtTwoPi = 0.39894228040143268F;

float normal_cdf(float x) { return 0.5F * std::erfc(-x * kSqrtHalf); }

void gelu_forward_piece(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * normal_cdf(x[i]);
}

void gelu_backward_piece(const float* x, const float* dy, float* dx, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float density = kInverseSqrtTwoPi * std::exp(-0.5F * x[i] * x[i]);
    dx[i] = dy[i] * (normal_cdf(x[i]) + x[i] * density);
  }
}

}  // namespace

void activation_forward(Activation kind, float alpha, const float* x, float* y, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    if (kind == Activation::gelu) return gelu_forward_piece(x + begin, y + begin, end - begin);
    HWY_DYNAMIC_DISPATCH(forward_piece)(kind, alpha, x + begin, y + begin, end - begin);
  });
}

void activation_backward_from_output(Activation kind, float alpha, const float* y, const float* dy, float* dx,
                                     int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(backward_from_output_piece)(kind, alpha, y + begin, dy + begin, dx + begin, end - begin);
  });
}

void activation_backward_from_input(Activation kind, float alpha, const float* x, const float* dy, float* dx,
                                    int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    if (kind == Activation::gelu) return gelu_backward_piece(x + begin, dy + begin, dx + begin, end - begin);
    HWY_DYNAMIC_DISPATCH(backward_from_input_piece)(kind, alpha, x + begin, dy + begin, dx + begin, end - begin);
  });
}

void relu_layer_forward(const ReluLayer& layer, const float* x, float* y, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(relu_layer_forward_piece)(layer, x + begin, y + begin, end - begin);
  });
}

void relu_layer_backward(const ReluLayer& layer, const float* x, const float* dy, float* dx, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(relu_layer_backward_piece)(layer, x + begin, dy + begin, dx + begin, end - begin);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
