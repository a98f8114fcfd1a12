#include "kernels/cuda/activation.h"

#include <math.h>

#include <stdexcept>
#include <string>

#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/map.h"

namespace dptrain::kernels::DPTRAIN_GPU {
namespace {

// keras.activations.selu.
constexpr float kSeluScale = 1.0507009873554805F;
constexpr float kSeluAlpha = 1.6732632423543772F;
constexpr float kSqrtHalf = 0.70710678118654752F;
constexpr float kInverseSqrtTwoPi = 0.39894228040143268F;

/// 1 / (1 + e^-x), accurate at both ends.
__device__ inline float logistic(float x) {
  const float e = expf(-fabsf(x)), upper = 1.0F / (1.0F + e);
  return x < 0.0F ? e * upper : upper;
}

// Each kind: its value, and dy times its derivative, from the input and, where the output tells it, from the output.
// Comparisons are turned so that NaN stays NaN.

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
  /// tanh(ln(1 + e^x)), and what it lacks to 1, both accurate where they are small: with e = e^-|x|, n / (n + m) and
  /// m / (n + m), where n = 1 + 2 e and m = 2 e^2 for x >= 0, else n = e (e + 2) and m = 2.
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

/// The layer ReLU.
struct BoundedRelu {
  ReluLayer layer;
  __device__ float value(float x) const {
    const float below = layer.negative_slope * (x - layer.threshold);
    return x >= layer.max_value ? layer.max_value : x > layer.threshold ? x : below;
  }
  __device__ float from_input(float x, float dy) const {
    return x >= layer.max_value ? 0.0F : x > layer.threshold ? dy : layer.negative_slope * dy;
  }
};

// What map() calls.
template <class F>
struct Value {
  F f;
  __device__ float operator()(float x) const { return f.value(x); }
};
template <class F>
struct FromInput {
  F f;
  __device__ float operator()(float x, float dy) const { return f.from_input(x, dy); }
};
template <class F>
struct FromOutput {
  F f;
  __device__ float operator()(float y, float dy) const { return f.from_output(y, dy); }
};

template <class F>
constexpr bool kFromOutput = requires(F f) {
  f.from_output(0.0F, 0.0F);
};

/// Calls run with the kind's functions; linear and those over rows (softmax.h) are the caller's.
template <class Run>
void with_kind(Activation kind, float alpha, const Run& run) {
  switch (kind) {
    case Activation::kLinear:
    case Activation::kSoftmax:
    case Activation::kLogSoftmax: break;
    case Activation::kRelu: return run(Relu{});
    case Activation::kRelu6: return run(Relu6{});
    case Activation::kLeakyRelu: return run(LeakyRelu{alpha});
    case Activation::kElu: return run(ScaledElu{1.0F, alpha});
    case Activation::kSelu: return run(ScaledElu{kSeluScale, kSeluScale * kSeluAlpha});
    case Activation::kGelu: return run(Gelu{});
    case Activation::kSwish: return run(Swish{});
    case Activation::kTanh: return run(Tanh{});
    case Activation::kSigmoid: return run(Sigmoid{});
    case Activation::kSoftplus: return run(Softplus{});
    case Activation::kHardSigmoid: return run(HardSigmoid{});
    case Activation::kHardSilu: return run(HardSilu{});
    case Activation::kMish: return run(Mish{});
    case Activation::kExponential: return run(Exponential{});
    case Activation::kSoftsign: return run(Softsign{});
  }
  throw std::invalid_argument("activation: kind " + std::to_string(static_cast<int>(kind)) + " has no function here");
}

template <class F>
void map_one(const Launch& at, DType type, const F& f, const void* x, void* y, std::int64_t n) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    map(at, n, f, static_cast<T*>(y), static_cast<const T*>(x));
  });
}

template <class F>
void map_two(const Launch& at, DType type, const F& f, const void* a, const void* b, void* y, std::int64_t n) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    map(at, n, f, static_cast<T*>(y), static_cast<const T*>(a), static_cast<const T*>(b));
  });
}

}  // namespace

void activation_forward(const Launch& at, DType type, Activation kind, float alpha, const void* x, void* y,
                        std::int64_t n) {
  if (kind == Activation::kLinear) return copy(at, type, x, y, n);
  with_kind(kind, alpha, [&]<class F>(const F& f) { map_one(at, type, Value<F>{f}, x, y, n); });
}

void activation_backward_from_output(const Launch& at, DType type, Activation kind, float alpha, const void* y,
                                     const void* dy, void* dx, std::int64_t n) {
  if (kind == Activation::kLinear) return copy(at, type, dy, dx, n);
  with_kind(kind, alpha, [&]<class F>(const F& f) {
    if constexpr (kFromOutput<F>)
      map_two(at, type, FromOutput<F>{f}, y, dy, dx, n);
    else
      throw std::invalid_argument(
          "activation_backward_from_output: the output does not tell the gradient of this kind");
  });
}

void activation_backward_from_input(const Launch& at, DType type, Activation kind, float alpha, const void* x,
                                    const void* dy, void* dx, std::int64_t n) {
  if (kind == Activation::kLinear) return copy(at, type, dy, dx, n);
  with_kind(kind, alpha, [&]<class F>(const F& f) { map_two(at, type, FromInput<F>{f}, x, dy, dx, n); });
}

void relu_layer_forward(const Launch& at, DType type, const ReluLayer& layer, const void* x, void* y, std::int64_t n) {
  map_one(at, type, Value<BoundedRelu>{{layer}}, x, y, n);
}

void relu_layer_backward(const Launch& at, DType type, const ReluLayer& layer, const void* x, const void* dy, void* dx,
                         std::int64_t n) {
  map_two(at, type, FromInput<BoundedRelu>{{layer}}, x, dy, dx, n);
}

}  // namespace dptrain::kernels::DPTRAIN_GPU
