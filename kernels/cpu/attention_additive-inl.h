// Additive scores, sum over d of w_d tanh(scale (q_d + k_d)), in the panels of attention-inl.h, and their gradients.

#if defined(DPTRAIN_KERNELS_CPU_ATTENTION_ADDITIVE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_ATTENTION_ADDITIVE_INL_H
#undef DPTRAIN_KERNELS_CPU_ATTENTION_ADDITIVE_INL_H
#else
#define DPTRAIN_KERNELS_CPU_ATTENTION_ADDITIVE_INL_H
#endif

#include "kernels/cpu/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

class AdditiveScores {
 public:
  explicit AdditiveScores(const AttentionInputs& of)
      : dim_(of.shape.key_dim), one_(of.shape.one_weight), weights_(of.score_weights), scale_(of.shape.scale) {}

  /// Writes panels [rows][count keys], zeros up to a multiple of 16.
  void score(const AttentionRows<const float>& q, int64_t rows, const AttentionRows<const float>& k, int64_t count,
             float* panels) const {
    const Vec scale = splat(scale_);
    for (int64_t r = 0; r < rows; ++r) {
      const float* const query = q.data + r * q.stride;
      for (int64_t j = 0; j < padded(count); ++j) {
        Vec sums = hn::Zero(kFloats);
        if (j < count)
          sweep(dim_, [&](int64_t d, auto io) HWY_ATTR {
            const Vec sum = hn::Add(io.load(query + d), io.load(k.data + j * k.stride + d));
            sums = hn::MulAdd(weight(d, io), hyperbolic_tangent(hn::Mul(scale, sum)), sums);
          });
        panels[place(r, j, count)] = sum_lanes(sums);
      }
    }
  }

  /// Adds the gradients of queries and keys (rows tiled(dim) floats apart), of w (`dim` numbers) and of the scale.
  void differentiate(const AttentionRows<const float>& q, int64_t rows, const AttentionRows<const float>& k,
                     int64_t count, const float* panels, float* dq, float* dk, float* dweights, float* dscale) const {
    const int64_t stride = tiled(dim_);
    const Vec scale = splat(scale_), one = splat(1.0F);
    Vec of_scale = hn::Zero(kFloats);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < count; ++j) {
        const Vec gradient = splat(panels[place(r, j, count)]);
        sweep(dim_, [&](int64_t d, auto io) HWY_ATTR {
          const Vec sum = hn::Add(io.load(q.data + r * q.stride + d), io.load(k.data + j * k.stride + d));
          const Vec value = hyperbolic_tangent(hn::Mul(scale, sum));
          const Vec inner = hn::Mul(hn::Mul(gradient, weight(d, io)), hn::NegMulAdd(value, value, one));
          of_scale = hn::MulAdd(inner, sum, of_scale);
          const Vec outer = io.clear(hn::Mul(inner, scale));
          io.store(hn::Add(io.load(dq + r * stride + d), outer), dq + r * stride + d);
          io.store(hn::Add(io.load(dk + j * stride + d), outer), dk + j * stride + d);
          io.store(hn::MulAdd(gradient, value, io.load(dweights + d)), dweights + d);
        });
      }
    *dscale += sum_lanes(of_scale);
  }

 private:
  static int64_t place(int64_t row, int64_t key, int64_t count) {
    return row / kTileRows * channel_blocks(count) * kPanelBlock + row % kTileRows * kChannelBlock + in_panels(key);
  }
  template <class Io>
  HWY_INLINE Vec weight(int64_t d, Io io) const {
    return one_ ? splat(*weights_) : io.load(weights_ + d);
  }

  int64_t dim_;
  bool one_;
  const float* weights_;
  float scale_;
};

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
