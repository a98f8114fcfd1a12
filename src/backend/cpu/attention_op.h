#pragma once

// The CPU's op of Attention and AdditiveAttention. Kept for backward is what the kernel keeps.

#include "backend/attention_scores.h"
#include "backend/device.h"
#include "core/random.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/masked_steps.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/room.h"

namespace dptrain::backend::cpu {

template <class Spec>
class AttentionOp final : public Op {
 public:
  AttentionOp(const Spec& spec, const OpContext& context, Device&)
      : scores_(spec, context),
        rows_(context.rows),
        keeps_(context.step.has_backward),
        key_(context.inputs() - 1),
        query_mask_(context.mask(0)),
        value_mask_(context.mask(1)),
        seed_(static_cast<std::uint32_t>(context.seed ^ context.seed >> 32)),
        stream_(static_cast<std::uint32_t>(Purpose::kDropout) + context.stream()) {}

  plan::Need need() const override {
    kernels::cpu::Room scratch(nullptr);
    rooms(scratch);
    const std::int64_t kept = keeps_ ? kernels::cpu::attention_kept(scores_.shape, rows_) : 0;
    return {.saved = static_cast<std::uint64_t>(kept) * sizeof(float),
            .scratch = static_cast<std::uint64_t>(scratch.taken()) * sizeof(float)};
  }

  void forward(const OpArgs& a) override {
    kernels::cpu::Room scratch(static_cast<float*>(a.scratch));
    const Rooms own = rooms(scratch);
    kernels::cpu::attention_forward(
        {.of = inputs_of(a), .y = a.out(), .kept = keeps_ && a.training ? static_cast<float*>(a.saved) : nullptr},
        own.workspace);
    keep_valid(a, a.out());
  }

  void backward(const OpArgs& a) override {
    kernels::cpu::Room scratch(static_cast<float*>(a.scratch));
    const Rooms own = rooms(scratch);
    const kernels::AttentionShape& s = scores_.shape;
    keep_valid(a, a.dy());
    const auto rows_of = [](float* data, std::int64_t stride) {
      return kernels::cpu::AttentionRows<float>{data, stride};
    };
    float* const dv = a.dx(1);
    const bool value_is_key = key_ == 1;
    kernels::cpu::attention_backward(
        {.of = inputs_of(a),
         .y = a.out(),
         .dy = a.dy(),
         .kept = static_cast<const float*>(a.saved),
         .dq = rows_of(a.dx(0), s.key_dim),
         .dk = rows_of(value_is_key ? (dv == nullptr ? nullptr : own.dk) : a.dx(2), s.key_dim),
         .dv = rows_of(dv, s.value_dim),
         .of_scores = own.of_scores},
        own.workspace);
    if (value_is_key && dv != nullptr) kernels::cpu::accumulate(own.dk, dv, a.rows * s.keys * s.key_dim);
    give(a, own, scores_.scale, kernels::cpu::score_gradients(s) - 1, 1, 1);
    give(a, own, scores_.weights, 0, scores_.weight_numbers(), s.one_weight ? s.key_dim : 1);
  }

  std::pair<double, double> flops_per_sample() const override {
    const kernels::AttentionShape& s = scores_.shape;
    const double pairs = 2.0 * static_cast<double>(s.queries) * static_cast<double>(s.keys);
    const double key_dim = static_cast<double>(s.key_dim), value_dim = static_cast<double>(s.value_dim);
    return {pairs * (key_dim + value_dim), pairs * (3 * key_dim + 2 * value_dim)};
  }

 private:
  struct Rooms {
    float *dk, *of_scores, *workspace;
  };
  Rooms rooms(kernels::cpu::Room& room) const {
    const kernels::AttentionShape& s = scores_.shape;
    const int threads = kernels::cpu::thread_count();
    const bool trains = keeps_ && (scores_.scale || scores_.weights);
    Rooms own{};
    own.dk = room.take(keeps_ && key_ == 1 ? rows_ * s.keys * s.key_dim : 0);
    own.of_scores = trains ? room.take(rows_ * kernels::cpu::score_gradients(s)) : nullptr;
    own.workspace = room.take(std::max(kernels::cpu::attention_forward_workspace(s, threads),
                                       keeps_ ? kernels::cpu::attention_backward_workspace(s, threads) : 0));
    return own;
  }

  kernels::cpu::AttentionInputs inputs_of(const OpArgs& a) const {
    kernels::AttentionShape s = scores_.shape;
    if (scores_.scale) s.scale = *a.weights[*scores_.scale];
    return {.shape = s,
            .rows = a.rows,
            .q = {a.in(0), s.key_dim},
            .k = {a.in(key_), s.key_dim},
            .v = {a.in(1), s.value_dim},
            .score_weights = scores_.weights ? a.weights[*scores_.weights] : &kOne,
            .value_mask = value_mask_ ? a.in<std::uint8_t>(*value_mask_) : nullptr,
            .dropout = {.rate = a.training ? scores_.dropout : 0.0F,
                        .seed = seed_,
                        .layer = stream_,
                        .step = static_cast<std::uint64_t>(a.step),
                        .first_row = a.first_row}};
  }

  /// Outputs of queries that are left out are zero, and so are their gradients.
  void keep_valid(const OpArgs& a, float* y) const {
    if (query_mask_)
      kernels::cpu::keep_valid_steps({}, DType::kF32, y, a.in<std::uint8_t>(*query_mask_),
                                     a.rows * scores_.shape.queries, scores_.shape.value_dim, y);
  }

  /// A weight's gradient: the sums over the rows, and over `joined` numbers for each of its own.
  void give(const OpArgs& a, const Rooms& own, std::optional<std::size_t> weight, std::int64_t first,
            std::int64_t numbers, std::int64_t joined) const {
    if (!weight || a.weight_gradients[*weight] == nullptr) return;
    const std::int64_t stride = kernels::cpu::score_gradients(scores_.shape);
    for (std::int64_t n = 0; n < numbers; ++n) {
      double sum = 0;
      for (std::int64_t row = 0; row < a.rows; ++row)
        for (std::int64_t j = 0; j < joined; ++j)
          sum += static_cast<double>(own.of_scores[row * stride + first + n * joined + j]);
      a.weight_gradients[*weight][n] = static_cast<float>(sum);
    }
  }

  static constexpr float kOne = 1;
  AttentionScores scores_;
  std::int64_t rows_;
  bool keeps_;
  std::size_t key_;  ///< the input that is the key
  std::optional<std::size_t> query_mask_, value_mask_;
  std::uint32_t seed_, stream_;
};

}  // namespace dptrain::backend::cpu
