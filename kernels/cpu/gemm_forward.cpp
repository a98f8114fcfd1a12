#include "kernels/cpu/gemm_forward.h"

#include <algorithm>

#include "kernels/cpu/gemm_conv.h"
#include "kernels/cpu/gemm_pixels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"
#include "kernels/cpu/workspace.h"

#ifndef DPTRAIN_KERNELS_CPU_GEMM_FORWARD_ONCE  // this file is read once per instruction set
#define DPTRAIN_KERNELS_CPU_GEMM_FORWARD_ONCE
namespace dptrain::kernels::cpu {

/// Floats of x, panels and y of a chunk: with the inputs of fused passes they fit an L2 cache of 1 MiB.
inline constexpr int64_t kChunkFloats = 128 << 10;
/// Positions of a chunk, unless a fused pass needs more.
inline constexpr int64_t kMinChunk = 56, kMaxChunk = 476;
/// Floats of the weights that are applied to a panel at once: with a chunk they fit an L2 cache of 2 MiB.
inline constexpr int64_t kWeightsAtOnce = 256 << 10;

}  // namespace dptrain::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/gemm_forward.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/gemm_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

inline constexpr int64_t kRowsBlock = kTallRows * kChannelBlock;
/// Blocks of 16 of K of a panel: it stays in the L1 cache while the weights are read.
inline constexpr int64_t kPanelDepth = 32;
/// Prefetch distance of the weights in floats; K and columns are contiguous.
inline constexpr int64_t kWeightsAhead = 512;

/// Calls f(std::integral_constant<int, r>) with the smallest tile of r >= rows rows.
template <class F>
HWY_INLINE void with_some_rows(int64_t rows, const F& f) {
  if (rows <= 2) return f(std::integral_constant<int, 2>{});
  if (rows <= 4) return f(std::integral_constant<int, 4>{});
  if constexpr (kTallRows > 8) {
    if (rows <= 8) return f(std::integral_constant<int, 8>{});
  }
  f(std::integral_constant<int, kTallRows>{});
}

/// Consecutive lines that are prefetched into the L2 cache while a panel is multiplied.
template <bool kToWrite>
struct Lines {
  const float* at = nullptr;
  int64_t count = 0;  ///< per block of 16 of K and per block of columns
  HWY_INLINE void fetch() {
    for (int64_t i = 0; i < count; ++i, at += kChannelBlock) __builtin_prefetch(at, kToWrite ? 1 : 0, 2);
  }
};
/// Prefetches of the next inputs, and of the output memory.
struct NextRows {
  Lines<false> read[2];
  Lines<true> written[2];
  HWY_INLINE void fetch() {
    read[0].fetch();
    read[1].fetch();
    written[0].fetch();
    written[1].fetch();
  }
};

class ForwardProducts {
 public:
  ForwardProducts(const GemmForward& forward, int threads, float* workspace) : f_(forward) {
    ConvWindow window = f_.window;
    f_.rows = flatten_pixels(window, f_.rows);
    px_ = forward_pixels(window);
    positions_ = f_.rows * px_.h * px_.w;
    depth_ = px_.taps * channel_blocks(px_.in_channels);
    columns_ = pieces_of(px_.out_channels, kTileColumns);
    WorkspaceParts parts(workspace);
    weights_ = parts.take(depth_ * kChannelBlock * px_.out_channels + kWeightsAhead);
    contiguous_ =
        px_.h * px_.w == 1 && px_.in_h * px_.in_w == 1 && px_.taps == 1 && px_.in_channels % kChannelBlock == 0;
    panel_depth_ = even_block(kPanelDepth, depth_, 1);
    slot_ = odd_lines(panel_depth_ * kRowsBlock);
    panels_ = parts.take(slot_ * threads);
    workspace_ = parts.taken();
    at_once_ = even_block(std::max<int64_t>(1, kWeightsAtOnce / (depth_ * kChannelBlock * kTileColumns)), columns_, 1);
    if (f_.prologue != nullptr || f_.epilogue != nullptr) at_once_ = columns_;
    // Threads share the chunks evenly, but `epilogue` may require a multiple of its step.
    const int64_t step = f_.epilogue == nullptr ? 1 : f_.epilogue->step;
    const int64_t even = even_block(most_chunk(), pieces_of(positions_, threads), kTallRows);
    chunk_ = std::max<int64_t>(1, std::min(even, most_chunk()) / step) * step;
    block_ = even_block(most_chunk(), chunk_, 1);
  }

  int64_t workspace() const { return workspace_; }

  void run() const {
    if (positions_ == 0) return;
    parallel_for(columns_ * depth_, [&](int64_t piece) HWY_ATTR { pack_weights(piece / depth_, piece % depth_); });
    const int64_t chunks = pieces_of(positions_, chunk_);
    parallel_slots(chunks * pieces_of(columns_, at_once_), [&](int64_t piece, int slot) HWY_ATTR {
      const int64_t begin = piece % chunks * chunk_, end = std::min(positions_, begin + chunk_);
      const int64_t column = piece / chunks * at_once_;
      for (int64_t first = begin; first < end; first += block_)
        run_block(first, std::min(block_, end - first), column, panels_ + slot * slot_);
    });
  }

 private:
  int64_t most_chunk() const {
    const int64_t fits = kChunkFloats / (2 * depth_ * kChannelBlock + px_.out_channels);
    return std::clamp(fits, kMinChunk, kMaxChunk) / kTallRows * kTallRows;
  }
  int64_t width_of(int64_t column) const { return std::min(kTileColumns, px_.out_channels - column * kTileColumns); }
  float* weights_of(int64_t column) const { return weights_ + column * kTileColumns * depth_ * kChannelBlock; }

  /// Packs 16 of K for a block of columns.
  void pack_weights(int64_t column, int64_t block) const {
    const int64_t width = width_of(column), blocks_of_tap = channel_blocks(px_.in_channels);
    const int64_t tap = block / blocks_of_tap, channel = block % blocks_of_tap * kChannelBlock;
    const int64_t count = std::min(kChannelBlock, px_.in_channels - channel), out = px_.out_channels;
    float* const to = weights_of(column) + block * kChannelBlock * width;
    std::fill_n(to + count * width, (kChannelBlock - count) * width, 0.0F);
    if (f_.transposed_weights) {
      const float* const from = f_.weights + column * kTileColumns * px_.in_channels + channel;
      for (int64_t n = 0; n < width; ++n)
        for (int64_t k = 0; k < count; ++k) to[k * width + n] = from[n * px_.in_channels + k];
      return;
    }
    const float* const from = f_.weights + (tap * px_.in_channels + channel) * out + column * kTileColumns;
    for (int64_t k = 0; k < count; ++k)
      for (int64_t n = 0; n < width; n += kLanes)
        hn::StoreU(hn::LoadU(kFloats, from + k * out + n), kFloats, to + k * width + n);
  }

  void run_block(int64_t first, int64_t count, int64_t column, float* panel) const {
    if (f_.prologue != nullptr) (*f_.prologue)(first, first + count);
    for (int64_t row = first; row < first + count; row += kTallRows) {
      const int64_t there = std::min<int64_t>(kTallRows, first + count - row);
      for (int64_t k = 0; k < depth_; k += panel_depth_)
        with_some_rows(there, [&](auto rows) HWY_ATTR {
          multiply<decltype(rows)::value>(row, there, {k, std::min(panel_depth_, depth_ - k)}, column, panel);
        });
    }
    if (f_.epilogue != nullptr) (*f_.epilogue)(first, first + count);
  }

  /// Multiplies rows of x, in the range `k`, by the blocks of columns from `column` on.
  template <int kRows>
  HWY_NOINLINE void multiply(int64_t row, int64_t there, DepthRange k, int64_t column, float* panel) const {
    pack_rows<kRows>(px_, f_.x, row, there, k, panel);
    const int64_t end = std::min(columns_, column + at_once_);
    NextRows next = next_of(row, there, k, (end - column) * k.count);
    for (; column < end; ++column)
      with_vectors(width_of(column) / kLanes, [&](auto vectors) HWY_ATTR {
        multiply_column<kRows, decltype(vectors)::value>(row, there, k, column, panel, next);
      });
  }

  /// The prefetches during `blocks` blocks: the next rows, or the inputs of `prologue` for these rows of the next
  /// chunk.
  NextRows next_of(int64_t row, int64_t there, DepthRange k, int64_t blocks) const {
    NextRows next;
    if (k.first > 0) return next;
    const int64_t behind = f_.prologue == nullptr ? there : block_, from = row + behind;
    const int64_t rows = std::min<int64_t>(kTallRows, positions_ - from);
    if (contiguous_ && rows > 0) {
      const int64_t lines = pieces_of(rows * depth_, blocks), at = from * px_.in_channels;
      if (f_.prologue == nullptr) {
        next.read[0] = {f_.x + at, lines};
      } else {
        for (int i = 0; i < 2; ++i)
          if (f_.prologue->reads[i] != nullptr) next.read[i] = {f_.prologue->reads[i] + at, lines};
        next.written[1] = {f_.x + at, lines};
      }
    }
    const int64_t out = std::min(px_.out_channels, at_once_ * kTileColumns);
    if (at_once_ == columns_ && row + 2 * there <= positions_)
      next.written[0] = {f_.y + (row + there) * px_.out_channels, pieces_of(there * out, blocks * kChannelBlock)};
    return next;
  }

  template <int kRows, int kVectors>
  HWY_INLINE void multiply_column(int64_t row, int64_t there, DepthRange k, int64_t column, const float* panel,
                                  NextRows& next) const {
    const int64_t out = px_.out_channels;
    float* const to = f_.y + row * out + column * kTileColumns;
    Tile<kRows, kVectors> tile;
    tile.clear();
    if (k.first > 0) each_row<kRows>(there, [&](int i) HWY_ATTR { load_row<kVectors>(to + i * out, tile.sum[i]); });
    const float* HWY_RESTRICT a = panel;
    const float* HWY_RESTRICT b = weights_of(column) + k.first * kChannelBlock * kVectors * kLanes;
    for (int64_t block = 0; block < k.count; ++block, a += kRows * kChannelBlock) {
      next.fetch();
      _Pragma("GCC unroll 4") for (int64_t i = 0; i < kChannelBlock; ++i, b += kVectors * kLanes) {
        Vec of_b[kVectors];
        DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) {
          of_b[v] = hn::LoadU(kFloats, b + v * kLanes);
          if (v * kLanes % kChannelBlock == 0) __builtin_prefetch(b + v * kLanes + kWeightsAhead, 0, 3);
        }
        DPTRAIN_UNROLL for (int r = 0; r < kRows; ++r) {
          const Vec of_a = splat(a[r * kChannelBlock + i]);
          DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) tile.sum[r][v] = hn::MulAdd(of_a, of_b[v], tile.sum[r][v]);
        }
      }
    }
    if (k.first + k.count == depth_) finish(column, tile);
    each_row<kRows>(there, [&](int i) HWY_ATTR { store_row<kVectors>(tile.sum[i], to + i * out); });
  }

  template <int kRows, class F>
  HWY_INLINE static void each_row(int64_t there, const F& f) {
    DPTRAIN_UNROLL for (int i = 0; i < kRows; ++i) {
      if (i < there) f(i);
    }
  }
  template <int kVectors>
  HWY_INLINE static void load_row(const float* from, Vec (&row)[kVectors]) {
    DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(kFloats, from + v * kLanes);
  }
  template <int kVectors>
  HWY_INLINE static void store_row(const Vec (&row)[kVectors], float* to) {
    DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) hn::StoreU(row[v], kFloats, to + v * kLanes);
  }

  template <int kRows, int kVectors>
  HWY_INLINE void finish(int64_t column, Tile<kRows, kVectors>& tile) const {
    if (f_.bias != nullptr) {
      Vec bias[kVectors];
      load_row<kVectors>(f_.bias + column * kTileColumns, bias);
      DPTRAIN_UNROLL for (int i = 0; i < kRows; ++i) {
        DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) tile.sum[i][v] = hn::Add(tile.sum[i][v], bias[v]);
      }
    }
    if (!f_.relu) return;
    DPTRAIN_UNROLL for (int i = 0; i < kRows; ++i) {
      DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) {
        tile.sum[i][v] = hn::IfThenZeroElse(hn::Le(tile.sum[i][v], hn::Zero(kFloats)), tile.sum[i][v]);
      }
    }
  }

  GemmForward f_;
  GemmPixels px_;
  int64_t positions_, depth_, columns_;  // pixels of y, blocks of 16 of K, blocks of kTileColumns of the outputs
  int64_t at_once_;                      // blocks of columns of a piece of the work
  int64_t panel_depth_;                  // blocks of 16 of K of a panel
  int64_t chunk_, block_;                // positions of a piece of the work, and of a call of a fused pass
  bool contiguous_;                      // windows are contiguous
  int64_t slot_, workspace_;             // floats of a thread's panel, of the whole workspace
  float *weights_, *panels_;
};

/// Runs the pass; returns the floats of workspace it needs. Without a workspace it only does the latter.
int64_t forward_products(const GemmForward& forward, int threads, float* workspace) {
  const ForwardProducts products(forward, threads, workspace);
  if (workspace != nullptr) products.run();
  return products.workspace();
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(forward_products);

bool gemm_forward_fits(const ConvWindow& w) {
  return w.groups == 1 && !w.dilated() && w.kernel_h * w.kernel_w <= kGemmConvTaps && w.out_channels % 16 == 0;
}

bool gemm_forward_is_pointwise(const ConvWindow& window) {
  ConvWindow flat = window;
  flatten_pixels(flat, 1);
  return flat.in_h == 1 && flat.in_w == 1 && flat.one_pixel();
}

int64_t gemm_forward_workspace(const ConvWindow& window, int64_t rows, int threads) {
  return HWY_DYNAMIC_DISPATCH(forward_products)({.window = window, .rows = rows}, threads, nullptr);
}

void gemm_forward(const GemmForward& forward, float* workspace) {
  HWY_DYNAMIC_DISPATCH(forward_products)(forward, thread_count(), workspace);
}

}  // namespace dptrain::kernels::cpu
#endif
