#include <algorithm>
#include <cstring>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/attention_gradient.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/attention_additive-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

struct AttentionBackwardScratch {
  float *transposed_k, *transposed_v, *k;  ///< for a block of keys
  float *q, *dy, *q_rows, *dy_rows;        ///< for a block of queries
  float *weights, *gradients;              ///< for a block of scores
  float *dq, *dk, *dv;                     ///< sums: dq for all queries, dk and dv for a block of keys
  float *delta, *mask_bias, *factors;      ///< delta: dot product of y and dy of each query
  float* dweights;                         ///< gradients of the weights of additive scores and of their scale
  int64_t floats, all_queries;

  AttentionBackwardScratch(const AttentionShape& s, float* slot) {
    all_queries = (s.queries + kQueryBlock - 1) / kQueryBlock * kQueryBlock;
    WorkspaceParts scratch(slot);
    transposed_k = scratch.take(kKeyBlock * padded(s.key_dim));
    transposed_v = scratch.take(kKeyBlock * padded(s.value_dim));
    k = scratch.take(kKeyBlock * tiled(s.key_dim));
    q = scratch.take(kQueryBlock * padded(s.key_dim));
    dy = scratch.take(kQueryBlock * padded(s.value_dim));
    q_rows = scratch.take(kQueryBlock * padded(s.key_dim));
    dy_rows = scratch.take(kQueryBlock * padded(s.value_dim));
    weights = scratch.take(kQueryBlock * kKeyBlock);
    gradients = scratch.take(kQueryBlock * kKeyBlock);
    dq = scratch.take(all_queries * tiled(s.key_dim));
    dk = scratch.take(kKeyBlock * tiled(s.key_dim));
    dv = scratch.take(kKeyBlock * tiled(s.value_dim));
    delta = scratch.take(all_queries);
    mask_bias = scratch.take(kKeyBlock);
    factors = scratch.take(WeightDropout::scratch());
    dweights = scratch.take(tiled(s.key_dim + 1));
    floats = scratch.taken();
  }
};

int64_t backward_scratch(const AttentionShape& s) { return AttentionBackwardScratch(s, nullptr).floats; }

/// One head of one sample.
class AttentionBackwardPiece {
 public:
  AttentionBackwardPiece(const AttentionBackward& pass, int64_t row, int64_t head, float* slot)
      : p_(pass),
        of_(pass.of),
        s_(pass.of.shape),
        row_(row),
        head_(head),
        saved_(pass.saved_tensors + (row * s_.heads + head) * s_.queries * 2),
        scratch_(s_, slot),
        key_mask_(pass.of, row),
        dropout_(pass.of, row, head, scratch_.factors) {}

  void run() {
    clear(scratch_.dq, scratch_.all_queries, s_.key_dim);
    clear(scratch_.dweights, 1, s_.key_dim + 1);
    const int64_t width = s_.heads * s_.value_dim, first = row_ * s_.queries * width + head_ * s_.value_dim;
    y_ = {p_.y + first, width};
    dy_ = {p_.dy + first, width};
    for (int64_t i = 0; i < s_.queries; ++i)
      scratch_.delta[i] = product(y_.data + i * width, dy_.data + i * width, s_.value_dim);
    for (int64_t key = 0; key < s_.keys; key += kKeyBlock) take_keys(key, std::min(kKeyBlock, s_.keys - key));
    if (p_.of_scores != nullptr) write_score_gradients();  // reads q, which dq may overwrite
    write_gradient(scratch_.dq, s_.queries, s_.key_dim, s_.additive ? 1.0F : s_.scale, p_.dq, s_.queries, 0);
  }

 private:
  static void clear(float* sums, int64_t rows, int64_t columns) {
    std::memset(sums, 0, static_cast<size_t>(rows * tiled(columns)) * sizeof(float));
  }
  static float product(const float* a, const float* b, int64_t n) {
    Vec sums = hn::Zero(kFloats);
    sweep(n, [&](int64_t c, auto io) HWY_ATTR { sums = hn::MulAdd(io.load(a + c), io.load(b + c), sums); });
    return sum_lanes(sums);
  }
  AttentionRows<const float> head_of(const AttentionRows<const float>& rows, int64_t positions, int64_t first,
                                     int64_t dim) const {
    return head_rows(rows, row_, head_, positions, first, dim);
  }

  void take_keys(int64_t key, int64_t count) {
    const bool any_visible = !key_mask_.masked() || key_mask_.apply_mask(key, count, scratch_.mask_bias);
    clear(scratch_.dk, kKeyBlock, s_.key_dim);
    clear(scratch_.dv, kKeyBlock, s_.value_dim);
    if (!key_mask_.skips(0, s_.queries, key, any_visible)) {
      const auto k = head_of(of_.k, s_.keys, key, s_.key_dim), v = head_of(of_.v, s_.keys, key, s_.value_dim);
      pack_transposed(v.data, v.stride, count, s_.value_dim, scratch_.transposed_v);
      if (!s_.additive) {
        pack_transposed(k.data, k.stride, count, s_.key_dim, scratch_.transposed_k);
        pack_tiles(k.data, k.stride, count, s_.key_dim, scratch_.k);
      }
      for (int64_t q = 0; q < s_.queries; q += kQueryBlock) {
        const int64_t rows = std::min(kQueryBlock, s_.queries - q);
        if (!key_mask_.skips(q, rows, key, any_visible)) take_queries(q, rows, key, count);
      }
    }
    write_gradient(scratch_.dk, count, s_.key_dim, 1.0F, p_.dk, s_.keys, key);
    write_gradient(scratch_.dv, count, s_.value_dim, 1.0F, p_.dv, s_.keys, key);
  }

  void take_queries(int64_t first, int64_t rows, int64_t key, int64_t count) {
    const auto q = head_of(of_.q, s_.queries, first, s_.key_dim);
    const float* const dy = dy_.data + first * dy_.stride;
    pack_panels(dy, dy_.stride, rows, s_.value_dim, 1.0F, scratch_.dy);
    pack_row_blocks(dy, dy_.stride, rows, s_.value_dim, 1.0F, kQueryBlock, scratch_.dy_rows);

    const int64_t columns = padded(count);
    const auto k = head_of(of_.k, s_.keys, key, s_.key_dim);
    if (s_.additive) {
      AdditiveScores(of_).score(q, rows, k, count, scratch_.weights);
    } else {
      pack_panels(q.data, q.stride, rows, s_.key_dim, s_.scale, scratch_.q);
      multiply_to_panels(rows, channel_blocks(s_.key_dim), scratch_.q, scratch_.transposed_k, columns,
                         scratch_.weights);
    }
    multiply_to_panels(rows, channel_blocks(s_.value_dim), scratch_.dy, scratch_.transposed_v, columns,
                       scratch_.gradients);
    for (int64_t r = 0; r < rows; ++r) differentiate(first + r, r, key, count);

    multiply_transposed_add(rows, columns, scratch_.weights, scratch_.dy_rows, kQueryBlock, s_.value_dim, scratch_.dv);
    float* const dq = scratch_.dq + first * tiled(s_.key_dim);
    if (s_.additive)
      return AdditiveScores(of_).differentiate(q, rows, k, count, scratch_.gradients, dq, scratch_.dk,
                                               scratch_.dweights, scratch_.dweights + s_.key_dim);
    pack_row_blocks(q.data, q.stride, rows, s_.key_dim, s_.scale, kQueryBlock, scratch_.q_rows);
    multiply_transposed_add(rows, columns, scratch_.gradients, scratch_.q_rows, kQueryBlock, s_.key_dim, scratch_.dk);
    multiply_panels_add(rows, columns / kChannelBlock, scratch_.gradients, scratch_.k, s_.key_dim, dq);
  }

  void write_score_gradients() const {
    float* const to = p_.of_scores + (row_ * s_.heads + head_) * score_gradients(s_);
    if (s_.additive) return void(std::copy_n(scratch_.dweights, s_.key_dim + 1, to));
    const auto q = head_of(of_.q, s_.queries, 0, s_.key_dim);
    *to = 0;
    for (int64_t i = 0; i < s_.queries; ++i)
      *to += product(q.data + i * q.stride, scratch_.dq + i * tiled(s_.key_dim), s_.key_dim);
  }

  /// Replaces scores by weights, and gradients of weights by gradients of scores.
  void differentiate(int64_t query, int64_t r, int64_t key, int64_t count) {
    const int64_t at_row =
        r / kTileRows * (padded(count) / kChannelBlock) * kPanelBlock + r % kTileRows * kChannelBlock;
    float* const weights = scratch_.weights + at_row;
    float* const gradients = scratch_.gradients + at_row;
    const bool fully_masked = key_mask_.is_fully_masked(query);
    const RowOfKeys keys{.count = count,
                         .limit = fully_masked ? count : key_mask_.limit(query, key, count),
                         .mask_bias = fully_masked || !key_mask_.masked() ? nullptr : scratch_.mask_bias,
                         .factors = dropout_.factors(query, key, count)};
    const Vec most = splat(saved_[2 * query]), share = splat(saved_[2 * query + 1]);
    const Vec delta = splat(scratch_.delta[query]);
    const Vec counts = splat(fully_masked && !s_.fully_masked_scores_count ? 0.0F : 1.0F);
    each_key(keys, [&](int64_t c, int64_t at) HWY_ATTR {
      const Vec score = apply_mask(keys, c, hn::LoadU(kFloats, weights + at));
      Vec weight = fully_masked ? share : hn::Mul(exp_of_negative(hn::Sub(score, most)), share);
      weight = up_to(keys.limit, c, weight, hn::Zero(kFloats));
      Vec gradient = hn::LoadU(kFloats, gradients + at), dropped = weight;
      if (keys.factors != nullptr) {
        const Vec factor = hn::LoadU(kFloats, keys.factors + c);
        gradient = hn::Mul(gradient, factor);
        dropped = hn::Mul(weight, factor);
      }
      hn::StoreU(hn::Mul(hn::Mul(weight, counts), hn::Sub(gradient, delta)), kFloats, gradients + at);
      hn::StoreU(dropped, kFloats, weights + at);
    });
  }

  /// Writes rows of sums times a factor to [rows, positions, heads * dim], from `first` on.
  void write_gradient(const float* sums, int64_t rows, int64_t dim, float factor, const AttentionRows<float>& to,
                      int64_t positions, int64_t first) const {
    if (to.data == nullptr) return;
    const Vec scale = splat(factor);
    for (int64_t r = 0; r < rows; ++r)
      map(
          dim, to.data + (row_ * positions + first + r) * to.stride + head_ * dim,
          [=](Vec v) HWY_ATTR { return hn::Mul(v, scale); }, sums + r * tiled(dim));
  }

  const AttentionBackward& p_;
  const AttentionInputs& of_;
  const AttentionShape& s_;
  int64_t row_, head_;
  const float* saved_;
  AttentionRows<const float> y_, dy_;
  AttentionBackwardScratch scratch_;
  KeyMask key_mask_;
  WeightDropout dropout_;
};

void backward_piece_of(const AttentionBackward& pass, int64_t row, int64_t head, float* slot) {
  AttentionBackwardPiece(pass, row, head, slot).run();
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(backward_scratch);
HWY_EXPORT(backward_piece_of);

int64_t attention_backward_workspace(const AttentionShape& shape, int threads) {
  return WorkspaceParts(nullptr).taken() + odd_lines(HWY_DYNAMIC_DISPATCH(backward_scratch)(shape)) * threads;
}

void attention_backward(const AttentionBackward& pass, float* workspace) {
  const AttentionShape& s = pass.of.shape;
  const int64_t scratch = odd_lines(HWY_DYNAMIC_DISPATCH(backward_scratch)(s));
  float* const slots = WorkspaceParts(workspace).take(0);
  parallel_slots(pass.of.rows * s.heads, [&](int64_t piece, int slot) {
    HWY_DYNAMIC_DISPATCH(backward_piece_of)(pass, piece / s.heads, piece % s.heads, slots + slot * scratch);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
