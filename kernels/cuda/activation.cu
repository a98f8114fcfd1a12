#include "kernels/cuda/activation.h"

#include <stdexcept>
#include <string>

#include "kernels/cuda/activation_kinds.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/map.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

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

// Functors for map().
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

/// Calls run with the functor of the kind, except linear and kinds over rows (softmax.h), which the caller handles.
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
      throw std::invalid_argument("activation_backward_from_output: this kind needs its input for the gradient");
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

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
