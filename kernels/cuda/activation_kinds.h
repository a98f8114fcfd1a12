#pragma once

// Element-wise activations inside kernels: a struct per kind, and one for a kind chosen at run time. The formulas are
// those of kernels/cpu/activation-inl.h. Only for .cu files.

#include <math.h>

#include "kernels/activation_kind.h"
#include "kernels/cuda/launch.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

using kernels::Activation;

// keras.activations.selu.
inline constexpr float kSeluScale = 1.0507009873554805F;
inline constexpr float kSeluAlpha = 1.6732632423543772F;
inline constexpr float kSqrtHalf = 0.70710678118654752F;
inline constexpr float kInverseSqrtTwoPi = 0.39894228040143268F;

/// 1 / (1 + e^-x), accurate at both ends.
__device__ inline float logistic(float x) {
  const float e = expf(-fabsf(x)), upper = 1.0F / (1.0F + e);
  return x < 0.0F ? e * upper : upper;
}

// Each kind has value() and dy times the derivative, from the input or the output. Comparisons let NaN propagate.

struct Relu {
  __device__ float value(float x) const { return x <= 0.0F ? 0.0F : x; }
  __device__ float from_input(float x, float dy) const { return x > 0.0F ? dy : 0.0F; }
  __device__ float from_output(float y, float dy) const { return from_input(y, dy); }
};

struct Relu6 {
  __device__ float value(float x) const { return x > 6.0F ? 6.0F : Relu{}.value(x); }
  __device__ float from_input(float x, float dy) const { return x > 0.0F && x < 6.0F ? dy : 0.0F; }
  __device__ float from_output(float y, float dy) const { return from_input(y, dy); }
};

struct LeakyRelu {
  float slope;
  __device__ float value(float x) const { return from_input(x, x); }
  __device__ float from_input(float x, float dy) const { return x > 0.0F ? dy : slope * dy; }
  __device__ float from_output(float y, float dy) const { return from_input(y, dy); }
};

/// scale (x > 0 ? x : alpha (e^x - 1)).
struct ScaledElu {
  float scale, scaled_alpha;
  __device__ float value(float x) const { return x > 0.0F ? scale * x : scaled_alpha * expm1f(x); }
  __device__ float from_input(float x, float dy) const { return dy * (x > 0.0F ? scale : scaled_alpha * expf(x)); }
  __device__ float from_output(float y, float dy) const { return dy * (y > 0.0F ? scale : y + scaled_alpha); }
};

struct Gelu {
  /// erfc keeps its accuracy where 1 + erf would lose it.
  __device__ static float normal_cdf(float x) { return 0.5F * erfcf(-x * kSqrtHalf); }
  __device__ float value(float x) const { return x * normal_cdf(x); }
  __device__ float from_input(float x, float dy) const {
    return dy * (normal_cdf(x) + x * kInverseSqrtTwoPi * expf(-0.5F * x * x));
  }
};

struct Swish {
  __device__ float value(float x) const { return x * logistic(x); }
  __device__ float from_input(float x, float dy) const {
    const float s = logistic(x);
    return dy * (x * s * (1.0F - s) + s);
  }
};

struct Tanh {
  __device__ float value(float x) const { return tanhf(x); }
  __device__ float from_input(float x, float dy) const { return from_output(value(x), dy); }
  __device__ float from_output(float y, float dy) const { return dy * ((1.0F - y) * (1.0F + y)); }
};

struct Sigmoid {
  __device__ float value(float x) const { return logistic(x); }
  __device__ float from_input(float x, float dy) const { return from_output(value(x), dy); }
  __device__ float from_output(float y, float dy) const { return dy * (y * (1.0F - y)); }
};

struct Softplus {
  __device__ float value(float x) const { return (x < 0.0F ? 0.0F : x) + log1pf(expf(-fabsf(x))); }
  __device__ float from_input(float x, float dy) const { return dy * logistic(x); }
  __device__ float from_output(float y, float dy) const { return dy * -expm1f(-y); }
};

/// relu6(x + 3) / 6.
struct HardSigmoid {
  __device__ float value(float x) const { return Relu6{}.value(x + 3.0F) / 6.0F; }
  __device__ float from_input(float x, float dy) const { return from_output(value(x), dy); }
  __device__ float from_output(float y, float dy) const { return y > 0.0F && y < 1.0F ? dy / 6.0F : 0.0F; }
};

/// x hard_sigmoid(x).
struct HardSilu {
  __device__ float value(float x) const { return x * HardSigmoid{}.value(x); }
  __device__ float from_input(float x, float dy) const {
    return dy * HardSigmoid{}.value(x) + HardSigmoid{}.from_input(x, x * dy);
  }
};

/// x tanh(ln(1 + e^x)).
struct Mish {
  /// tanh(ln(1 + e^x)) and 1 minus it, both accurate when small: n / (n + m) and m / (n + m). With e = e^-|x|:
  /// n = 1 + 2 e and m = 2 e^2 for x >= 0; n = e (e + 2) and m = 2 for x < 0.
  struct Gate {
    float gate, rest;
  };
  __device__ static Gate gate_at(float x) {
    const float e = expf(-fabsf(x));
    const float n = x < 0.0F ? e * (e + 2.0F) : 1.0F + 2.0F * e, m = x < 0.0F ? 2.0F : 2.0F * e * e;
    return {n / (n + m), m / (n + m)};
  }
  __device__ float value(float x) const { return x * gate_at(x).gate; }
  __device__ float from_input(float x, float dy) const {
    const Gate at = gate_at(x);
    return dy * (at.gate + x * logistic(x) * at.rest * (1.0F + at.gate));
  }
};

struct Exponential {
  __device__ float value(float x) const { return expf(x); }
  __device__ float from_input(float x, float dy) const { return from_output(value(x), dy); }
  __device__ float from_output(float y, float dy) const { return dy * y; }
};

/// x / (1 + |x|).
struct Softsign {
  __device__ float value(float x) const { return x / (1.0F + fabsf(x)); }
  __device__ float from_input(float x, float dy) const {
    const float share = 1.0F / (1.0F + fabsf(x));
    return dy * (share * share);
  }
  __device__ float from_output(float y, float dy) const {
    const float rest = 1.0F - fabsf(y);
    return dy * (rest * rest);
  }
};

struct Identity {
  __device__ float value(float x) const { return x; }
  __device__ float from_output(float, float dy) const { return dy; }
};

/// An activation chosen at run time: one with has_gradient_from_output and not over rows. Others give NaN.
struct NamedActivation {
  Activation kind;
  float alpha;

  __device__ float value(float x) const { return with(ValueAt{x}); }
  __device__ float from_output(float y, float dy) const { return with(GradientAt{y, dy}); }

 private:
  struct ValueAt {
    float x;
    template <class F>
    __device__ float operator()(const F& f) const {
      return f.value(x);
    }
  };
  struct GradientAt {
    float y, dy;
    template <class F>
    __device__ float operator()(const F& f) const {
      return f.from_output(y, dy);
    }
  };

  template <class Use>
  __device__ float with(const Use& use) const {
    switch (kind) {
      case Activation::kLinear: return use(Identity{});
      case Activation::kRelu: return use(Relu{});
      case Activation::kRelu6: return use(Relu6{});
      case Activation::kLeakyRelu: return use(LeakyRelu{alpha});
      case Activation::kElu: return use(ScaledElu{1.0F, alpha});
      case Activation::kSelu: return use(ScaledElu{kSeluScale, kSeluScale * kSeluAlpha});
      case Activation::kTanh: return use(Tanh{});
      case Activation::kSigmoid: return use(Sigmoid{});
      case Activation::kSoftplus: return use(Softplus{});
      case Activation::kHardSigmoid: return use(HardSigmoid{});
      case Activation::kExponential: return use(Exponential{});
      case Activation::kSoftsign: return use(Softsign{});
      default: return nanf("");
    }
  }
};

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
