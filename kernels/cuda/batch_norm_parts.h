#pragma once

// Common parts of batch normalization: moments of a channel, and gradients through a ReLU. Only for .cu files.

#include <type_traits>

#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/columns.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

__device__ inline void write_if(float* to, std::int64_t c, float value) {
  if (to != nullptr) to[c] = value;
}

struct Affine {
  float scale, offset;
};
__device__ inline Affine affine_of(float mean, float variance, const float* gamma, const float* beta, float epsilon,
                                   std::int64_t c) {
  const float scale = (gamma == nullptr ? 1.0F : gamma[c]) / sqrtf(variance + epsilon);
  return {scale, (beta == nullptr ? 0.0F : beta[c]) - mean * scale};
}

/// Parameters for computing moments from sums.
struct MomentsRule {
  float epsilon;
  const float *gamma, *beta;  ///< may be null
  BatchNormMoments to;
};

/// Writes all results for channel c from its sums over `total` positions.
__device__ inline void write_moments(const MomentsRule& rule, double total, double sum, double sum_sq, std::int64_t c) {
  const double share = total > 0 ? 1.0 / total : 0.0;
  const BatchNormMoments& to = rule.to;
  const double m = sum * share, v = sum_sq * share - m * m;
  const float mean = static_cast<float>(m), variance = v < 0.0 ? 0.0F : static_cast<float>(v);  // NaN propagates
  write_if(to.mean, c, mean);
  write_if(to.variance, c, variance);
  write_if(to.inv_std, c, 1.0F / sqrtf(variance + rule.epsilon));
  const Affine affine = affine_of(mean, variance, rule.gamma, rule.beta, rule.epsilon, c);
  write_if(to.scale, c, affine.scale);
  write_if(to.offset, c, affine.offset);
  write_if(to.statistics_mean, c, to.statistics_share * mean);
  const bool corrected = to.unbiased && total > 1.0;
  const float factor = corrected ? static_cast<float>(total) / static_cast<float>(total - 1.0) : 1.0F;
  write_if(to.statistics_variance, c, to.statistics_share * (variance * factor));
}

/// The mask of a gradient: none, output > 0, or x scale + offset > 0 (rounded like the output).
enum class Gate { kOpen, kOutput, kAffine };

/// Values of V channels that the gate needs.
template <Gate kGate, int V>
struct GateChannels {
  __device__ GateChannels(const float*, const float*, std::int64_t) {}
};
template <int V>
struct GateChannels<Gate::kAffine, V> {
  Lanes<V> scale, offset;
  __device__ GateChannels(const float* s, const float* o, std::int64_t c)
      : scale(load<V>(s + c)), offset(load<V>(o + c)) {}
};

/// A gradient and its gate. Members that the gate does not need may be null.
template <class T, Gate kGate>
struct GatedGradient {
  const T *dy, *output;
  const float *scale, *offset;

  explicit GatedGradient(const BatchNormGradient& g)
      : dy(static_cast<const T*>(g.dy)), output(static_cast<const T*>(g.output)), scale(g.scale), offset(g.offset) {}

  /// dy of V elements, and the output for Gate::kOutput.
  template <int V>
  struct Inputs {
    Lanes<V> dy, output;
  };
  template <int V>
  __device__ Inputs<V> read(std::int64_t i) const {
    const Lanes<V> gradient = load<V>(dy + i);
    if constexpr (kGate == Gate::kOutput) return {gradient, load<V>(output + i)};
    return {gradient, gradient};
  }

  /// dy where the gate is open, else 0. Only Gate::kAffine reads `x`.
  template <int V>
  __device__ Lanes<V> gated(const GateChannels<kGate, V>& at, const Lanes<V>& x, const Inputs<V>& in) const {
    Lanes<V> gradient = in.dy;
    if constexpr (kGate == Gate::kOutput) {
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k)
        if (!(in.output.v[k] > 0.0F)) gradient.v[k] = 0.0F;
    } else if constexpr (kGate == Gate::kAffine) {
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k)
        if (!(to_float(from_float<T>(fmaf(x.v[k], at.scale.v[k], at.offset.v[k]))) > 0.0F)) gradient.v[k] = 0.0F;
    }
    return gradient;
  }

  /// gated() of elements [i, i + V).
  template <int V>
  __device__ Lanes<V> load_at(const GateChannels<kGate, V>& at, const Lanes<V>& x, std::int64_t i) const {
    return gated<V>(at, x, read<V>(i));
  }
};

/// Calls f with the gradient's gate as a constant.
template <class F>
void with_gate(const BatchNormGradient& g, const F& f) {
  if (g.output != nullptr)
    f(std::integral_constant<Gate, Gate::kOutput>{});
  else if (g.scale != nullptr)
    f(std::integral_constant<Gate, Gate::kAffine>{});
  else
    f(std::integral_constant<Gate, Gate::kOpen>{});
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
