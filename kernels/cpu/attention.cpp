#include "kernels/cpu/attention.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/attention.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/attention_additive-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Maximum number of queries of a piece: enough for packing keys and values to cost little compared with the products.
inline constexpr int64_t kPieceQueries = 3 * kQueryBlock;

int64_t piece_queries(const AttentionShape& s) { return even_block(kPieceQueries, s.queries, kTileRows); }

/// Scratch memory of a piece, cut from the workspace of one thread.
struct AttentionForwardScratch {
  float *q, *k, *v, *scores, *y, *most, *sum, *mask_bias, *factors;
  int64_t floats;

  AttentionForwardScratch(const AttentionShape& s, float* slot) {
    WorkspaceParts scratch(slot);
    q = scratch.take(kPieceQueries * padded(s.key_dim));
    k = scratch.take(kKeyBlock * padded(s.key_dim));
    v = scratch.take(kKeyBlock * tiled(s.value_dim));
    scores = scratch.take(kQueryBlock * kKeyBlock);
    y = scratch.take(kPieceQueries * tiled(s.value_dim));
    most = scratch.take(kPieceQueries);
    sum = scratch.take(kPieceQueries);
    mask_bias = scratch.take(kKeyBlock);
    factors = scratch.take(WeightDropout::scratch());
    floats = scratch.taken();
  }
};

int64_t forward_scratch(const AttentionShape& s) { return AttentionForwardScratch(s, nullptr).floats; }

/// A block of queries of one head of one sample.
class AttentionForwardPiece {
 public:
  AttentionForwardPiece(const AttentionForward& pass, int64_t row, int64_t head, int64_t first, int64_t count,
                        float* slot)
      : of_(pass.of),
        s_(pass.of.shape),
        y_(pass.y),
        saved_(pass.saved_tensors),
        row_(row),
        head_(head),
        first_(first),
        count_(count),
        scratch_(s_, slot),
        key_mask_(pass.of, row),
        dropout_(pass.of, row, head, scratch_.factors) {}

  void run() {
    const auto q = head_of(of_.q, s_.queries, first_, s_.key_dim);
    if (!s_.additive) pack_panels(q.data, q.stride, count_, s_.key_dim, s_.scale, scratch_.q);
    std::fill(scratch_.most, scratch_.most + count_, kLowest);
    std::memset(scratch_.sum, 0, static_cast<size_t>(count_) * sizeof(float));
    std::memset(scratch_.y, 0, static_cast<size_t>(kPieceQueries * tiled(s_.value_dim)) * sizeof(float));
    for (int64_t key = 0; key < s_.keys; key += kKeyBlock) take_keys(key, std::min(kKeyBlock, s_.keys - key));
    for (int64_t i = 0; i < count_; ++i) finish(i);
  }

 private:
  AttentionRows<const float> head_of(const AttentionRows<const float>& rows, int64_t positions, int64_t first,
                                     int64_t dim) const {
    return head_rows(rows, row_, head_, positions, first, dim);
  }

  void take_keys(int64_t key, int64_t count) {
    const bool any_visible = !key_mask_.masked() || key_mask_.apply_mask(key, count, scratch_.mask_bias);
    if (key_mask_.skips(first_, count_, key, any_visible)) return;
    const auto k = head_of(of_.k, s_.keys, key, s_.key_dim), v = head_of(of_.v, s_.keys, key, s_.value_dim);
    if (!s_.additive) pack_transposed(k.data, k.stride, count, s_.key_dim, scratch_.k);
    pack_tiles(v.data, v.stride, count, s_.value_dim, scratch_.v);
    const int64_t depth = channel_blocks(s_.key_dim), columns = padded(count);
    for (int64_t q = 0; q < count_; q += kQueryBlock) {
      const int64_t rows = std::min(kQueryBlock, count_ - q);
      if (key_mask_.skips(first_ + q, rows, key, any_visible)) continue;
      if (s_.additive)
        AdditiveScores(of_).score(head_of(of_.q, s_.queries, first_ + q, s_.key_dim), rows, k, count, scratch_.scores);
      else
        multiply_to_panels(rows, depth, scratch_.q + q / kTileRows * depth * kPanelBlock, scratch_.k, columns,
                           scratch_.scores);
      for (int64_t r = 0; r < rows; ++r) weigh(q + r, r, key, count);
      multiply_panels_add(rows, columns / kChannelBlock, scratch_.scores, scratch_.v, s_.value_dim,
                          scratch_.y + q * tiled(s_.value_dim));
    }
  }

  /// Replaces scores by e^(score - running maximum), and rescales sums and outputs when the maximum grows.
  void weigh(int64_t i, int64_t r, int64_t key, int64_t count) {
    float* const scores =
        scratch_.scores + r / kTileRows * (padded(count) / kChannelBlock) * kPanelBlock + r % kTileRows * kChannelBlock;
    const int64_t query = first_ + i;
    RowOfKeys keys{.count = count,
                   .limit = key_mask_.limit(query, key, count),
                   .mask_bias = key_mask_.masked() ? scratch_.mask_bias : nullptr,
                   .factors = dropout_.factors(query, key, count)};
    if (key_mask_.is_fully_masked(query)) {
      keys.limit = count;
      scratch_.most[i] = 0;
      scratch_.sum[i] += static_cast<float>(count);
      return put(keys, scores, [](int64_t, Vec) HWY_ATTR { return splat(1.0F); });
    }
    const float before = scratch_.most[i], most = std::max(before, largest(keys, scores));
    if (most == kLowest) return put(keys, scores, [](int64_t, Vec) HWY_ATTR { return hn::Zero(kFloats); });
    if (before != most && scratch_.sum[i] > 0) lower(i, before - most);
    scratch_.most[i] = most;
    Vec sums = hn::Zero(kFloats);
    const Vec top = splat(most);
    put(keys, scores, [&](int64_t c, Vec score) HWY_ATTR {
      const Vec weight =
          up_to(keys.limit, c, exp_of_negative(hn::Sub(apply_mask(keys, c, score), top)), hn::Zero(kFloats));
      sums = hn::Add(sums, weight);
      return weight;
    });
    scratch_.sum[i] += sum_lanes(sums);
  }

  static float largest(const RowOfKeys& keys, const float* scores) {
    Vec most = splat(kLowest);
    each_key(keys, [&](int64_t c, int64_t at) HWY_ATTR {
      most = hn::Max(up_to(keys.limit, c, apply_mask(keys, c, hn::LoadU(kFloats, scores + at)), splat(kLowest)), most);
    });
    return max_lanes(most);
  }

  /// Replaces scores by the weights that f returns times the dropout factors; zeros beyond the last key.
  template <class F>
  static void put(const RowOfKeys& keys, float* scores, const F& f) {
    each_key(keys, [&](int64_t c, int64_t at) HWY_ATTR {
      Vec weight = up_to(keys.count, c, f(c, hn::LoadU(kFloats, scores + at)), hn::Zero(kFloats));
      if (keys.factors != nullptr) weight = hn::Mul(weight, hn::LoadU(kFloats, keys.factors + c));
      hn::StoreU(weight, kFloats, scores + at);
    });
  }

  void lower(int64_t i, float by) {
    const Vec factor = exp_of_negative(splat(by));
    scratch_.sum[i] *= hn::GetLane(factor);
    float* const y = scratch_.y + i * tiled(s_.value_dim);
    for (int64_t c = 0; c < tiled(s_.value_dim); c += kLanes)
      hn::StoreU(hn::Mul(hn::LoadU(kFloats, y + c), factor), kFloats, y + c);
  }

  void finish(int64_t i) {
    const float inverse = 1.0F / scratch_.sum[i];
    const Vec share = splat(inverse);
    const int64_t query = first_ + i;
    map(
        s_.value_dim, y_ + ((row_ * s_.queries + query) * s_.heads + head_) * s_.value_dim,
        [=](Vec v) HWY_ATTR { return hn::Mul(v, share); }, scratch_.y + i * tiled(s_.value_dim));
    if (saved_ == nullptr) return;
    float* const saved_tensors = saved_ + ((row_ * s_.heads + head_) * s_.queries + query) * 2;
    saved_tensors[0] = scratch_.most[i];
    saved_tensors[1] = inverse;
  }

  const AttentionInputs& of_;
  const AttentionShape& s_;
  float *y_, *saved_;
  int64_t row_, head_, first_, count_;
  AttentionForwardScratch scratch_;
  KeyMask key_mask_;
  WeightDropout dropout_;
};

void forward_piece_of(const AttentionForward& pass, int64_t row, int64_t head, int64_t first, int64_t count,
                      float* slot) {
  AttentionForwardPiece(pass, row, head, first, count, slot).run();
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(piece_queries);
HWY_EXPORT(forward_scratch);
HWY_EXPORT(forward_piece_of);

int64_t attention_saved_floats(const AttentionShape& shape, int64_t rows) {
  return rows * shape.heads * shape.queries * 2;
}

int64_t attention_forward_workspace(const AttentionShape& shape, int threads) {
  return WorkspaceParts(nullptr).taken() + odd_lines(HWY_DYNAMIC_DISPATCH(forward_scratch)(shape)) * threads;
}

void attention_forward(const AttentionForward& pass, float* workspace) {
  const AttentionShape& s = pass.of.shape;
  const int64_t size = HWY_DYNAMIC_DISPATCH(piece_queries)(s), blocks = pieces_of(s.queries, size);
  const int64_t scratch = odd_lines(HWY_DYNAMIC_DISPATCH(forward_scratch)(s));
  float* const slots = WorkspaceParts(workspace).take(0);
  parallel_slots(pass.of.rows * s.heads * blocks, [&](int64_t piece, int slot) {
    const int64_t head = piece / blocks, first = piece % blocks * size;
    HWY_DYNAMIC_DISPATCH(forward_piece_of)
    (pass, head / s.heads, head % s.heads, first, std::min(size, s.queries - first), slots + slot * scratch);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
