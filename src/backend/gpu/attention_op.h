#pragma once

// The GPU's op of Attention and AdditiveAttention. Kept for backward is what the kernel keeps.

#include "backend/attention_scores.h"
#include "backend/gpu/attention_limits.h"
#include "backend/gpu/gpu_op.h"
#include "backend/parts.h"
#include "core/random.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/bias.h"
#include "kernels/cuda/masked_steps.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

template <class Spec>
class AttentionOp final : public GpuOp {
 public:
  AttentionOp(const Spec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        scores_(spec, context),
        rows_(context.rows),
        keeps_(context.step.has_backward),
        key_(context.inputs() - 1),
        query_mask_(context.mask(0)),
        value_mask_(context.mask(1)),
        seed_(static_cast<std::uint32_t>(context.seed ^ context.seed >> 32)),
        stream_(static_cast<std::uint32_t>(Purpose::kDropout) + context.stream()) {
    check_attention_fits(scores_.shape);
  }

  plan::Need need() const override {
    Parts saved(nullptr), scratch(nullptr);
    if (keeps_) saved.floats(kernel::attention_kept(scores_.shape, rows_));
    rooms(scratch);
    return {.saved = saved.taken(), .scratch = scratch.taken()};
  }

  void forward(const OpArgs& a) override {
    Parts scratch(a.scratch);
    const Rooms own = rooms(scratch);
    kernel::attention_forward(at(a), type_, inputs_of(a, own), a.out<void>(),
                              keeps_ && a.training ? static_cast<float*>(a.saved) : nullptr);
    keep_valid(a, a.out<void>());
  }

  void backward(const OpArgs& a) override {
    Parts scratch(a.scratch);
    const Rooms own = rooms(scratch);
    const kernels::AttentionShape& s = scores_.shape;
    keep_valid(a, a.dy<void>());
    void* const dv = a.input_gradients[1];
    const bool value_is_key = key_ == 1;
    kernel::attention_backward(
        at(a), type_, inputs_of(a, own), a.out<void>(), a.dy<void>(), static_cast<const float*>(a.saved), own.along,
        {.dq = {a.input_gradients[0], s.key_dim},
         .dk = {value_is_key ? (dv == nullptr ? nullptr : own.dk) : a.input_gradients[2], s.key_dim},
         .dv = {dv, s.value_dim},
         .of_scores = own.of_scores});
    if (value_is_key && dv != nullptr) kernel::accumulate(at(a), type_, own.dk, dv, a.rows * s.keys * s.key_dim);
    if (own.of_scores != nullptr) give(a, own);
  }

  std::pair<double, double> flops_per_sample() const override {
    const kernels::AttentionShape& s = scores_.shape;
    const double pairs = 2.0 * static_cast<double>(s.queries) * static_cast<double>(s.keys);
    const double key_dim = static_cast<double>(s.key_dim), value_dim = static_cast<double>(s.value_dim);
    return {pairs * (key_dim + value_dim), pairs * (3 * key_dim + 2 * value_dim)};
  }

 private:
  struct Rooms {
    void* dk;
    float *along, *one, *of_scores, *sums, *bias_sums;
  };
  Rooms rooms(Parts& parts) const {
    const kernels::AttentionShape& s = scores_.shape;
    const std::int64_t numbers = kernel::score_gradients(s), all = kernel::attention_parts(s, rows_);
    Rooms own{};
    own.one = parts.floats(1);
    if (!keeps_) return own;
    own.dk = parts.take(key_ == 1 ? rows_ * s.keys * s.key_dim : 0, type_);
    own.along = parts.floats(rows_ * s.queries);
    if (!scores_.scale && !scores_.weights) return own;
    own.of_scores = parts.floats(all * numbers);
    own.sums = parts.floats(numbers);
    own.bias_sums = parts.floats(
        std::max(kernel::bias_gradient_workspace(all, numbers), kernel::bias_gradient_workspace(s.key_dim, 1)));
    return own;
  }

  kernel::AttentionInputs inputs_of(const OpArgs& a, const Rooms& own) const {
    const kernels::AttentionShape& s = scores_.shape;
    const auto rows_of = [](const void* data, std::int64_t stride) {
      return kernel::AttentionRows{const_cast<void*>(data), stride};  // NOLINT: read alone
    };
    if (s.additive && !scores_.weights) kernel::fill(at(a), 1, own.one, 1);
    return {.shape = s,
            .rows = a.rows,
            .q = rows_of(a.inputs[0], s.key_dim),
            .k = rows_of(a.inputs[key_], s.key_dim),
            .v = rows_of(a.inputs[1], s.value_dim),
            .score_weights = scores_.weights ? a.weights[*scores_.weights] : own.one,
            .scale = scores_.scale ? a.weights[*scores_.scale] : nullptr,
            .value_mask = value_mask_ ? a.in<std::uint8_t>(*value_mask_) : nullptr,
            .dropout = {.rate = a.training ? scores_.dropout : 0.0F,
                        .seed = seed_,
                        .layer = stream_,
                        .first_row = a.first_row},
            .state = a.state};
  }

  /// Outputs of queries that are left out are zero, and so are their gradients.
  void keep_valid(const OpArgs& a, void* y) const {
    if (query_mask_)
      kernel::keep_valid_steps(at(a), type_, y, a.in<std::uint8_t>(*query_mask_), a.rows * scores_.shape.queries,
                               scores_.shape.value_dim, y);
  }

  /// The weights' gradients: sums over all parts, and over the features of a weight that is one for all.
  void give(const OpArgs& a, const Rooms& own) const {
    const kernels::AttentionShape& s = scores_.shape;
    const std::int64_t numbers = kernel::score_gradients(s);
    kernel::bias_gradient(at(a), DType::kF32, own.of_scores, kernel::attention_parts(s, a.rows), numbers, own.bias_sums,
                          own.sums);
    if (float* const scale = gradient_of(a, scores_.scale))
      kernel::copy(at(a), DType::kF32, own.sums + numbers - 1, scale, 1);
    float* const weights = gradient_of(a, scores_.weights);
    if (weights == nullptr) return;
    if (s.one_weight)
      kernel::bias_gradient(at(a), DType::kF32, own.sums, s.key_dim, 1, own.bias_sums, weights);
    else
      kernel::copy(at(a), DType::kF32, own.sums, weights, s.key_dim);
  }
  static float* gradient_of(const OpArgs& a, std::optional<std::size_t> weight) {
    return weight ? a.weight_gradients[*weight] : nullptr;
  }

  AttentionScores scores_;
  std::int64_t rows_;
  bool keeps_;
  std::size_t key_;  ///< the input that is the key
  std::optional<std::size_t> query_mask_, value_mask_;
  std::uint32_t seed_, stream_;
};

}  // namespace dptrain::backend::DPTRAIN_BACKEND
