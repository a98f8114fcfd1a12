// Element-wise activations on vectors, and passes over a piece of a flat array.

#if defined(DPTRAIN_KERNELS_CPU_ACTIVATION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_ACTIVATION_INL_H
#undef DPTRAIN_KERNELS_CPU_ACTIVATION_INL_H
#else
#define DPTRAIN_KERNELS_CPU_ACTIVATION_INL_H
#endif

#include "kernels/activation_kind.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

// keras.activations.selu.
inline constexpr float kSeluScale = 1.0507009873554805F;
inline constexpr float kSeluAlpha = 1.6732632423543772F;

HWY_INLINE auto positive(Vec x) { return hn::Gt(x, hn::Zero(kFloats)); }

// Each kind: its value and dy times its derivative, computed from the input or, where possible, from the output.

struct Linear {
  HWY_INLINE Vec value(Vec x) const { return x; }
  HWY_INLINE Vec from_input(Vec, Vec dy) const { return dy; }
  HWY_INLINE Vec from_output(Vec, Vec dy) const { return dy; }
};

struct Relu {
  HWY_INLINE Vec value(Vec x) const { return hn::IfThenZeroElse(hn::Le(x, hn::Zero(kFloats)), x); }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const { return where(positive(x), dy); }
  HWY_INLINE Vec from_output(Vec y, Vec dy) const { return from_input(y, dy); }
};

struct Relu6 {
  HWY_INLINE Vec value(Vec x) const {
    const Vec six = splat(6.0F);
    return hn::IfThenElse(hn::Gt(x, six), six, Relu{}.value(x));
  }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const { return where(hn::And(positive(x), hn::Lt(x, splat(6.0F))), dy); }
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

struct HardSigmoid {
  HWY_INLINE Vec value(Vec x) const { return hn::Div(Relu6{}.value(hn::Add(x, splat(3.0F))), splat(6.0F)); }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const { return from_output(value(x), dy); }
  HWY_INLINE Vec from_output(Vec y, Vec dy) const {
    const auto inside = hn::And(positive(y), hn::Lt(y, splat(1.0F)));
    return hn::IfThenElseZero(inside, hn::Div(dy, splat(6.0F)));
  }
};

struct HardSilu {
  HWY_INLINE Vec value(Vec x) const { return hn::Mul(x, HardSigmoid{}.value(x)); }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const {
    return hn::MulAdd(dy, HardSigmoid{}.value(x), HardSigmoid{}.from_input(x, hn::Mul(x, dy)));
  }
};

/// x tanh(ln(1 + e^x)).
struct Mish {
  HWY_INLINE Vec value(Vec x) const { return hn::Mul(x, Gate(x).gate); }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const {
    const Gate at(x);
    const Vec curve = hn::Mul(hn::Mul(x, logistic(x)), hn::Mul(at.rest, hn::Add(splat(1.0F), at.gate)));
    return hn::Mul(dy, hn::Add(at.gate, curve));
  }

 private:
  /// gate = tanh(ln(1 + e^x)) = n / (n + m) and rest = 1 - gate = m / (n + m), accurate where they are small. With e =
  /// e^-|x|: n = 1 + 2 e and m = 2 e^2 for x >= 0, else n = e (e + 2) and m = 2.
  struct Gate {
    Vec gate, rest;
    HWY_INLINE explicit Gate(Vec x) {
      const Vec e = exp_of_negative(hn::Neg(hn::Abs(x))), two = splat(2.0F);
      const auto below = hn::Lt(x, hn::Zero(kFloats));
      const Vec n = hn::IfThenElse(below, hn::Mul(e, hn::Add(e, two)), hn::MulAdd(two, e, splat(1.0F)));
      const Vec m = hn::IfThenElse(below, two, hn::Mul(two, hn::Mul(e, e)));
      const Vec share = hn::Div(splat(1.0F), hn::Add(n, m));
      gate = hn::Mul(n, share);
      rest = hn::Mul(m, share);
    }
  };
};

struct Exponential {
  HWY_INLINE Vec value(Vec x) const { return exponential(x); }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const { return from_output(value(x), dy); }
  HWY_INLINE Vec from_output(Vec y, Vec dy) const { return hn::Mul(dy, y); }
};

struct Softsign {
  HWY_INLINE Vec value(Vec x) const { return hn::Div(x, hn::Add(splat(1.0F), hn::Abs(x))); }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const {
    const Vec share = hn::Div(splat(1.0F), hn::Add(splat(1.0F), hn::Abs(x)));
    return hn::Mul(dy, hn::Mul(share, share));
  }
  HWY_INLINE Vec from_output(Vec y, Vec dy) const {
    const Vec rest = hn::Sub(splat(1.0F), hn::Abs(y));
    return hn::Mul(dy, hn::Mul(rest, rest));
  }
};

HWY_INLINE ScaledElu elu(float alpha) { return {splat(1.0F), splat(alpha)}; }
HWY_INLINE ScaledElu selu() { return {splat(kSeluScale), splat(kSeluScale * kSeluAlpha)}; }

/// x times the standard normal cumulative distribution function.
struct Gelu {
  /// The cumulative distribution function and the density at x.
  struct Normal {
    Vec below, density;
  };
  static HWY_INLINE Normal normal(Vec x) {
    // e^(-x^2 / 2), with the rounding error of x^2 / 2 added back: it dominates far from zero.
    const Vec size = hn::Min(hn::Abs(x), splat(20.0F)), half = hn::Mul(splat(-0.5F), size);
    const Vec power = hn::Mul(half, size), rest = hn::MulSub(half, size, power);
    const Vec bell = hn::Exp(kFloats, power);
    const Vec fine = hn::MulAdd(bell, rest, bell);
    // The tail beyond |x| is this times t p(t), t = 1 / (1 + 0.3 |x|); the relative error of the fit p is 3e-9.
    const Vec t = hn::Div(splat(1.0F), hn::MulAdd(splat(0.3F), size, splat(1.0F)));
    Vec p = splat(-0.0206235517F);
    for (const float next : {0.112436064F, -0.228214651F, 0.191785932F, -0.0794246346F, 0.0961574391F, 0.0783894435F,
                             0.110235468F, 0.119571812F, 0.119686693F})
      p = hn::MulAdd(p, t, splat(next));
    const Vec beyond = hn::Mul(hn::Mul(p, t), fine);
    const Vec below = hn::IfThenElse(hn::Lt(x, hn::Zero(kFloats)), beyond, hn::Sub(splat(1.0F), beyond));
    return {keep_nan(x, below), hn::Mul(splat(0.39894228040143268F), fine)};
  }
  HWY_INLINE Vec value(Vec x) const { return hn::Mul(x, normal(x).below); }
  HWY_INLINE Vec from_input(Vec x, Vec dy) const {
    const Normal at = normal(x);
    return hn::Mul(dy, hn::MulAdd(x, at.density, at.below));
  }
  HWY_INLINE Vec from_output(Vec, Vec dy) const { return dy; }  // not used
};

/// Calls f with the functions of an element-wise kind; the kinds over rows (softmax.h) do nothing.
template <class F>
HWY_INLINE void with_kind(Activation kind, float alpha, const F& f) {
  switch (kind) {
    case Activation::kLinear: return f(Linear{});
    case Activation::kRelu: return f(Relu{});
    case Activation::kRelu6: return f(Relu6{});
    case Activation::kLeakyRelu: return f(LeakyRelu{splat(alpha)});
    case Activation::kElu: return f(elu(alpha));
    case Activation::kSelu: return f(selu());
    case Activation::kSwish: return f(Swish{});
    case Activation::kTanh: return f(Tanh{});
    case Activation::kSigmoid: return f(Sigmoid{});
    case Activation::kSoftplus: return f(Softplus{});
    case Activation::kHardSigmoid: return f(HardSigmoid{});
    case Activation::kHardSilu: return f(HardSilu{});
    case Activation::kMish: return f(Mish{});
    case Activation::kExponential: return f(Exponential{});
    case Activation::kSoftsign: return f(Softsign{});
    case Activation::kGelu: return f(Gelu{});
    case Activation::kSoftmax:
    case Activation::kLogSoftmax: return;
  }
}

/// y = f(x) over n floats. In place is allowed, also in the passes below.
inline void forward_piece(Activation kind, float alpha, const float* x, float* y, int64_t n) {
  with_kind(kind, alpha, [&](const auto& function) HWY_ATTR {
    map(
        n, y, [&](Vec v) HWY_ATTR { return function.value(v); }, x);
  });
}

inline void backward_from_input_piece(Activation kind, float alpha, const float* x, const float* dy, float* dx,
                                      int64_t n) {
  with_kind(kind, alpha, [&](const auto& function) HWY_ATTR {
    map(
        n, dx, [&](Vec v, Vec g) HWY_ATTR { return function.from_input(v, g); }, x, dy);
  });
}

/// dx = dy f'(x), computed from y = f(x); only for kinds with has_gradient_from_output.
inline void backward_from_output_piece(Activation kind, float alpha, const float* y, const float* dy, float* dx,
                                       int64_t n) {
  with_kind(kind, alpha, [&](const auto& function) HWY_ATTR {
    if constexpr (requires(Vec v) { function.from_output(v, v); })
      map(
          n, dx, [&](Vec v, Vec g) HWY_ATTR { return function.from_output(v, g); }, y, dy);
  });
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
