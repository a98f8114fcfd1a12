// Packing and products of attention's blocks of scores for the tiles of gemm-inl.h, and masks. Scores are stored in
// panels, [group of kTileRows queries][keys / 16][kTileRows][16], the layout of an operand of the next product.

#if defined(DPTRAIN_KERNELS_CPU_ATTENTION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_ATTENTION_INL_H
#undef DPTRAIN_KERNELS_CPU_ATTENTION_INL_H
#else
#define DPTRAIN_KERNELS_CPU_ATTENTION_INL_H
#endif

#include <limits>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/dropout-inl.h"
#include "kernels/cpu/gemm_pack-inl.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// A block of scores fits the L1 cache, packed keys and values fit the L2 cache.
inline constexpr int64_t kKeyBlock = 128, kQueryBlock = 48;
static_assert(kQueryBlock % kTileRows == 0 && kKeyBlock % kChannelBlock == 0 && kKeyBlock % kTileColumns == 0);

inline constexpr float kLowest = -std::numeric_limits<float>::infinity();

HWY_INLINE int64_t padded(int64_t n) { return channel_blocks(n) * kChannelBlock; }
/// Row stride, in floats, of a product with n columns: whole tiles.
HWY_INLINE int64_t tiled(int64_t n) { return (n + 31) / 32 * 32; }
static_assert(32 % kTileColumns == 0);

/// Offset of key c in a row of a group of panels.
HWY_INLINE int64_t in_panels(int64_t c) { return c / kChannelBlock * kPanelBlock + c % kChannelBlock; }

HWY_INLINE AttentionRows<const float> head_rows(const AttentionRows<const float>& rows, int64_t row, int64_t head,
                                                int64_t positions, int64_t first, int64_t dim) {
  return {rows.data + (row * positions + first) * rows.stride + head * dim, rows.stride};
}

/// Packs rows times a factor into panels; zeros fill the last group.
inline void pack_panels(const float* from, int64_t stride, int64_t rows, int64_t dim, float factor, float* panels) {
  const int64_t blocks = channel_blocks(dim), all = (rows + kTileRows - 1) / kTileRows * kTileRows;
  const Vec scale = splat(factor);
  for (int64_t r = 0; r < all; ++r) {
    float* const to = panels + r / kTileRows * blocks * kPanelBlock + r % kTileRows * kChannelBlock;
    copy_blocks(r < rows ? from + r * stride : nullptr, dim, 0, blocks, to, kPanelBlock);
    if (factor == 1.0F) continue;
    for (int64_t c = 0; c < blocks * kChannelBlock; c += kLanes) {
      float* const at = to + in_panels(c);
      hn::StoreU(hn::Mul(hn::LoadU(kFloats, at), scale), kFloats, at);
    }
  }
}

/// Packs rows times a factor as [dim / 16][of_block rows][16].
inline void pack_row_blocks(const float* from, int64_t stride, int64_t rows, int64_t dim, float factor,
                            int64_t of_block, float* to) {
  const int64_t blocks = channel_blocks(dim);
  const Vec scale = splat(factor);
  for (int64_t r = 0; r < rows; ++r) {
    copy_blocks(from + r * stride, dim, 0, blocks, to + r * kChannelBlock, of_block * kChannelBlock);
    if (factor == 1.0F) continue;
    for (int64_t b = 0; b < blocks; ++b)
      for (int64_t c = 0; c < kChannelBlock; c += kLanes) {
        float* const at = to + (b * of_block + r) * kChannelBlock + c;
        hn::StoreU(hn::Mul(hn::LoadU(kFloats, at), scale), kFloats, at);
      }
  }
}

#if HWY_TARGET != HWY_SCALAR
/// Transposes a 4 x 4 block.
HWY_INLINE void transpose_4x4(const float* from, int64_t stride, float* to, int64_t to_stride) {
  const hn::FixedTag<float, 4> four;
  const hn::Repartition<uint64_t, hn::FixedTag<float, 4>> two;
  const auto a = hn::LoadU(four, from), b = hn::LoadU(four, from + stride), c = hn::LoadU(four, from + 2 * stride),
             d = hn::LoadU(four, from + 3 * stride);
  const auto ab0 = hn::BitCast(two, hn::InterleaveLower(four, a, b)),
             ab2 = hn::BitCast(two, hn::InterleaveUpper(four, a, b)),
             cd0 = hn::BitCast(two, hn::InterleaveLower(four, c, d)),
             cd2 = hn::BitCast(two, hn::InterleaveUpper(four, c, d));
  hn::StoreU(hn::BitCast(four, hn::InterleaveLower(two, ab0, cd0)), four, to);
  hn::StoreU(hn::BitCast(four, hn::InterleaveUpper(two, ab0, cd0)), four, to + to_stride);
  hn::StoreU(hn::BitCast(four, hn::InterleaveLower(two, ab2, cd2)), four, to + 2 * to_stride);
  hn::StoreU(hn::BitCast(four, hn::InterleaveUpper(two, ab2, cd2)), four, to + 3 * to_stride);
}
#endif

/// Transposes rows into the columns of a tile of `width`: to[k][column], zeros beyond rows and dim.
inline void transpose_to_columns(const float* from, int64_t stride, int64_t rows, int64_t dim, int64_t width,
                                 float* to) {
  const int64_t depth = padded(dim);
  int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; c + 4 <= std::min(rows, width); c += 4) {
    int64_t k = 0;
    for (; k + 4 <= dim; k += 4) transpose_4x4(from + c * stride + k, stride, to + k * width + c, width);
    for (; k < depth; ++k)
      for (int64_t i = c; i < c + 4; ++i) to[k * width + i] = k < dim ? from[i * stride + k] : 0.0F;
  }
#endif
  for (int64_t k = 0; c < width && k < depth; ++k)
    for (int64_t i = c; i < width; ++i) to[k * width + i] = k < dim && i < rows ? from[i * stride + k] : 0.0F;
}

/// Packs the transposed matrix as tiles: products of panels with them are [.., rows].
inline void pack_transposed(const float* from, int64_t stride, int64_t rows, int64_t dim, float* to) {
  const int64_t depth = padded(dim);
  for (int64_t tile = 0; tile < padded(rows); tile += kTileColumns)
    transpose_to_columns(from + tile * stride, stride, rows - tile, dim, tile_vectors(padded(rows), tile) * kLanes,
                         to + tile * depth);
}

/// Packs rows without transposing as tiles: products of panels with them are [.., dim].
inline void pack_tiles(const float* from, int64_t stride, int64_t rows, int64_t dim, float* to) {
  const int64_t depth = padded(rows);
  for (int64_t tile = 0; tile < dim; tile += kTileColumns) {
    const int64_t vectors = tile_vectors(dim, tile);
    for (int64_t r = 0; r < depth; ++r)
      for (int64_t v = 0; v < vectors; ++v, to += kLanes) {
        const int64_t column = tile + v * kLanes, left = dim - column;
        if (r >= rows)
          hn::StoreU(hn::Zero(kFloats), kFloats, to);
        else if (left >= kLanes)
          hn::StoreU(hn::LoadU(kFloats, from + r * stride + column), kFloats, to);
        else
          hn::StoreU(Partial{left}.load(from + r * stride + column), kFloats, to);
      }
  }
}

/// Panels [rows][columns] = panels a [rows][depth blocks] times tiles b. `columns` is a multiple of 16.
inline void multiply_to_panels(int64_t rows, int64_t depth, const float* a, const float* b, int64_t columns,
                               float* panels) {
  const int64_t group = columns / kChannelBlock * kPanelBlock;
  for (int64_t tile = 0; tile < columns; tile += kTileColumns)
    with_vectors(tile_vectors(columns, tile), [&](auto vectors) HWY_ATTR {
      constexpr int kVectors = decltype(vectors)::value;
      for (int64_t first = 0; first < rows; first += kTileRows)
        with_rows(rows - first, [&](auto count) HWY_ATTR {
          constexpr int kRows = decltype(count)::value;
          const int64_t g = first / kTileRows;
          Tile<kRows, kVectors> products;
          products.clear();
          products.add(depth, a + g * depth * kPanelBlock, kPanelBlock, b + tile * depth * kChannelBlock, NoPrefetch{});
          DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) {
            float* const to = panels + g * group + in_panels(tile + v * kLanes);
            DPTRAIN_UNROLL for (int r = 0; r < kRows; ++r) {
              hn::StoreU(products.sum[r][v], kFloats, to + r * kChannelBlock);
            }
          }
        });
    });
}

/// c [rows][columns] += panels a [rows][depth blocks] times tiles b. c has whole groups of rows, tiled(columns) apart.
inline void multiply_panels_add(int64_t rows, int64_t depth, const float* a, const float* b, int64_t columns,
                                float* c) {
  const int64_t stride = tiled(columns);
  for (int64_t tile = 0; tile < columns; tile += kTileColumns)
    with_vectors(tile_vectors(columns, tile), [&](auto vectors) HWY_ATTR {
      constexpr int kVectors = decltype(vectors)::value;
      for (int64_t first = 0; first < rows; first += kTileRows)
        with_rows(rows - first, [&](auto count) HWY_ATTR {
          Tile<decltype(count)::value, kVectors> products;
          float* const to = c + first * stride + tile;
          products.load(to, stride);
          products.add(depth, a + first / kTileRows * depth * kPanelBlock, kPanelBlock,
                       b + tile * depth * kChannelBlock, NoPrefetch{});
          products.store(to, stride);
        });
    });
}

template <int kRows, int kVectors>
HWY_INLINE void multiply_transposed_part(int64_t rows, int64_t group, const float* a, const float* b, int64_t of_block,
                                         float* c, int64_t stride) {
  NoPrefetch nothing;
  Tile<kRows, kVectors> products;
  products.load(c, stride);
  for (int64_t first = 0; first < rows; first += kTileRows)
    products.add_transposed(std::min<int64_t>(kTileRows, rows - first), a + first / kTileRows * group,
                            b + first * kChannelBlock, of_block * kChannelBlock, nothing);
  products.store(c, stride);
}

/// c [keys][columns] += transposed panels [rows][keys] times b of pack_row_blocks(). `keys` % 16 == 0; c as above.
inline void multiply_transposed_add(int64_t rows, int64_t keys, const float* panels, const float* b, int64_t of_block,
                                    int64_t columns, float* c) {
  const int64_t stride = tiled(columns), group = keys / kChannelBlock * kPanelBlock;
  for (int64_t tile = 0; tile < columns; tile += kTileColumns)
    with_vectors(tile_vectors(columns, tile), [&](auto vectors) HWY_ATTR {
      constexpr int kVectors = decltype(vectors)::value;
      const float* const of_tile = b + tile / kChannelBlock * of_block * kChannelBlock + tile % kChannelBlock;
      const auto part = [&](int64_t key, auto count) HWY_ATTR {
        multiply_transposed_part<decltype(count)::value, kVectors>(rows, group, panels + in_panels(key), of_tile,
                                                                   of_block, c + key * stride + tile, stride);
      };
      for (int64_t key = 0; key < keys; key += kChannelBlock) {
        if constexpr (kTileRows >= 8) {
          part(key, std::integral_constant<int, 8>{});
          part(key + 8, std::integral_constant<int, 8>{});
        } else {
          part(key, std::integral_constant<int, 6>{});
          part(key + 6, std::integral_constant<int, 5>{});
          part(key + 11, std::integral_constant<int, 5>{});
        }
      }
    });
}

/// Masks of one sample: which keys each query attends to.
class KeyMask {
 public:
  KeyMask(const AttentionInputs& of, int64_t row)
      : causal_(of.shape.causal),
        keys_(of.shape.keys),
        queries_(of.query_mask == nullptr ? nullptr : of.query_mask + row * of.shape.queries),
        values_(of.value_mask == nullptr ? nullptr : of.value_mask + row * keys_),
        of_keys_(of.key_mask == nullptr ? nullptr : of.key_mask + row * keys_) {
    while (first_ < keys_ && !is_visible(first_)) ++first_;
  }

  bool masked() const { return values_ != nullptr || of_keys_ != nullptr; }
  bool is_visible(int64_t key) const {
    return (values_ == nullptr || values_[key] != 0) && (of_keys_ == nullptr || of_keys_[key] != 0);
  }
  /// Whether all keys are masked for the query.
  bool is_fully_masked(int64_t query) const {
    return (queries_ != nullptr && queries_[query] == 0) || first_ >= (causal_ ? std::min(query + 1, keys_) : keys_);
  }
  bool any_fully_masked(int64_t first, int64_t count) const {
    for (int64_t i = first; i < first + count; ++i)
      if (is_fully_masked(i)) return true;
    return false;
  }
  /// How many of keys [first, first + count) the causal mask leaves visible.
  int64_t limit(int64_t query, int64_t first, int64_t count) const {
    return causal_ ? std::clamp<int64_t>(query + 1 - first, 0, count) : count;
  }
  /// Sets `mask_bias` to 0 (visible) or minus infinity for each key; returns whether any key is visible.
  bool apply_mask(int64_t first, int64_t count, float* mask_bias) const {
    bool any = false;
    for (int64_t c = 0; c < padded(count); ++c) {
      const bool seen = c < count && is_visible(first + c);
      mask_bias[c] = seen ? 0.0F : kLowest;
      any |= seen;
    }
    return any;
  }
  /// Whether queries [query, query + queries) ignore the block of keys from `first` on. `any_visible`: result of
  /// apply_mask().
  bool skips(int64_t query, int64_t queries, int64_t first, bool any_visible) const {
    const bool beyond = causal_ && first >= query + queries;
    return (beyond || !any_visible) && !any_fully_masked(query, queries);
  }

 private:
  bool causal_;
  int64_t keys_, first_ = 0;
  const uint8_t *queries_, *values_, *of_keys_;
};

/// The keys of a block and how they are masked for one query.
struct RowOfKeys {
  int64_t count, limit;    ///< the causal mask leaves the first `limit` visible
  const float* mask_bias;  ///< 0 or minus infinity for each; null: all are visible
  const float* factors;    ///< dropout factors of the row; null: none
};

/// v with the lanes of keys from `limit` on set to `other`.
HWY_INLINE Vec up_to(int64_t limit, int64_t c, Vec v, Vec other) {
  if (c + kLanes <= limit) return v;
  const int64_t left = std::max<int64_t>(0, limit - c);
  return hn::IfThenElse(hn::FirstN(kFloats, static_cast<size_t>(left)), v, other);
}

/// Calls f(key, offset in the row of panels) for whole vectors that cover the keys, rounded up to 16.
template <class F>
HWY_INLINE void each_key(const RowOfKeys& keys, const F& f) {
  for (int64_t c = 0; c < padded(keys.count); c += kLanes) f(c, in_panels(c));
}

HWY_INLINE Vec apply_mask(const RowOfKeys& keys, int64_t c, Vec score) {
  return keys.mask_bias == nullptr ? score : hn::Add(score, hn::LoadU(kFloats, keys.mask_bias + c));
}

class WeightDropout {
 public:
  WeightDropout(const AttentionInputs& of, int64_t row, int64_t head, float* scratch)
      : dropout_(of.dropout),
        keep_(of.dropout.rate),
        row_(static_cast<uint32_t>(of.dropout.first_row + row)),
        first_query_(head * of.shape.queries),
        groups_((of.shape.keys + 3) / 4),
        scratch_(scratch) {}

  /// Null without dropout. `key` is a multiple of 4.
  const float* factors(int64_t query, int64_t key, int64_t count) const {
    if (dropout_.rate <= 0) return nullptr;
    drop_factors(dropout_, keep_, row_, static_cast<uint32_t>((first_query_ + query) * groups_ + key / 4),
                 padded(count), scratch_);
    return scratch_;
  }
  static int64_t scratch() { return drop_factors_scratch(kKeyBlock); }

 private:
  const Dropout& dropout_;
  Keep keep_;
  uint32_t row_;
  int64_t first_query_, groups_;
  float* scratch_;
};

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
