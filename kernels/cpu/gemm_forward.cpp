#include "kernels/cpu/gemm_forward.h"

#include <algorithm>

#include "kernels/cpu/gemm_conv.h"
#include "kernels/cpu/gemm_pixels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/room.h"
#include "kernels/cpu/targets.h"

#ifndef DPTRAIN_KERNELS_CPU_GEMM_FORWARD_ONCE  // this file is read once per instruction set
#define DPTRAIN_KERNELS_CPU_GEMM_FORWARD_ONCE
namespace dptrain::kernels::cpu {

/// Floats of x, of the panels and of y of a chunk: they fit a second cache of 1 MiB with what passes beside read.
inline constexpr int64_t kChunkFloats = 128 << 10;
/// Positions of a chunk, unless a pass behind it wants more.
inline constexpr int64_t kLeastChunk = 48, kMostChunk = 480;

}  // namespace dptrain::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/gemm_forward.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/gemm_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

class ForwardProducts {
 public:
  ForwardProducts(const GemmForward& forward, int threads, float* workspace) : f_(forward) {
    ConvWindow window = f_.window;
    f_.rows = flatten_pixels(window, f_.rows);
    px_ = forward_pixels(window);
    positions_ = f_.rows * px_.h * px_.w;
    depth_ = px_.taps * channel_blocks(px_.in_channels);
    columns_ = pieces_of(px_.out_channels, kTileColumns);
    Room room(workspace);
    weights_ = room.take(depth_ * kChannelBlock * px_.out_channels);
    in_place_ = px_.h * px_.w == 1 && px_.in_h * px_.in_w == 1 && px_.taps == 1 && px_.in_channels % kChannelBlock == 0;
    slot_ = odd_lines((in_place_ ? 1 : pieces_of(most_chunk(), kTileRows)) * depth_ * kPanelBlock);
    panels_ = room.take(slot_ * threads);
    workspace_ = room.taken();
    // Threads share the chunks evenly; what a pass behind them wants goes first.
    const int64_t step = f_.after == nullptr ? 1 : f_.after->step;
    const int64_t even = even_block(most_chunk(), pieces_of(positions_, threads), kTileRows);
    chunk_ = std::max<int64_t>(1, std::min(even, most_chunk()) / step) * step;
    block_ = even_block(most_chunk(), chunk_, 1);
  }

  int64_t workspace() const { return workspace_; }

  void run() const {
    if (positions_ == 0) return;
    parallel_for(columns_ * depth_, [&](int64_t piece) HWY_ATTR { pack_weights(piece / depth_, piece % depth_); });
    parallel_slots(pieces_of(positions_, chunk_), [&](int64_t piece, int slot) HWY_ATTR {
      const int64_t begin = piece * chunk_, end = std::min(positions_, begin + chunk_);
      for (int64_t first = begin; first < end; first += block_)
        run_block(first, std::min(block_, end - first), panels_ + slot * slot_);
    });
  }

 private:
  /// A chunk of windows: the first `whole` stand one behind the other, the others are packed.
  struct Windows {
    const float* in_place;
    int64_t whole;
    const float* panels;
  };

  /// K that a pass over y takes at a time: so much of a block of columns of the weights stays in half of the nearest
  /// cache.
  static constexpr int64_t kDepthAtOnce = 16384 / (kTileColumns * 4) / kChannelBlock;

  int64_t most_chunk() const {
    const int64_t fits = kChunkFloats / (2 * depth_ * kChannelBlock + px_.out_channels);
    return std::clamp(fits, kLeastChunk, kMostChunk) / kTileRows * kTileRows;
  }
  int64_t width_of(int64_t column) const { return std::min(kTileColumns, px_.out_channels - column * kTileColumns); }
  float* weights_of(int64_t column) const { return weights_ + column * kTileColumns * depth_ * kChannelBlock; }

  /// 16 of K for a block of columns.
  void pack_weights(int64_t column, int64_t block) const {
    const int64_t width = width_of(column), blocks_of_tap = channel_blocks(px_.in_channels);
    const int64_t tap = block / blocks_of_tap, channel = block % blocks_of_tap * kChannelBlock;
    const int64_t count = std::min(kChannelBlock, px_.in_channels - channel), out = px_.out_channels;
    float* const to = weights_of(column) + block * kChannelBlock * width;
    std::fill_n(to + count * width, (kChannelBlock - count) * width, 0.0F);
    const float* const from = f_.weights + (tap * px_.in_channels + channel) * out + column * kTileColumns;
    for (int64_t k = 0; k < count; ++k)
      for (int64_t n = 0; n < width; n += kLanes)
        hn::StoreU(hn::LoadU(kFloats, from + k * out + n), kFloats, to + k * width + n);
  }

  void run_block(int64_t first, int64_t count, float* panels) const {
    if (f_.before != nullptr) (*f_.before)(first, first + count);
    const int64_t whole = in_place_ ? count / kTileRows * kTileRows : 0;
    pack_windows(px_, f_.x, first + whole, count - whole, {0, depth_}, panels);
    const Windows windows{in_place_ ? f_.x + first * px_.in_channels : nullptr, whole, panels};
    float* const y = f_.y + first * px_.out_channels;
    for (int64_t k = 0; k < depth_; k += kDepthAtOnce)
      for (int64_t column = 0; column < columns_; ++column)
        with_vectors(width_of(column) / kLanes, [&](auto vectors) HWY_ATTR {
          const DepthRange range{k, std::min(kDepthAtOnce, depth_ - k)};
          multiply<decltype(vectors)::value>(count, range, column, windows, y);
        });
    if (f_.after != nullptr) (*f_.after)(first, first + count);
  }

  template <int kVectors>
  HWY_NOINLINE void multiply(int64_t count, DepthRange k, int64_t column, const Windows& windows, float* y) const {
    const int64_t out = px_.out_channels;
    const bool last = k.first + k.count == depth_;
    const float* const of_b = weights_of(column) + k.first * kChannelBlock * kVectors * kLanes;
    float* to = y + column * kTileColumns;
    const auto tile_of = [&](int64_t there, auto rows, const auto& add) HWY_ATTR {
      constexpr int kRows = decltype(rows)::value;
      Tile<kRows, kVectors> tile;
      tile.clear();
      if (k.first > 0) each_row<kRows>(there, [&](int i) HWY_ATTR { load_row<kVectors>(to + i * out, tile.sum[i]); });
      add(tile);
      if (last) finish(column, tile);
      each_row<kRows>(there, [&](int i) HWY_ATTR { store_row<kVectors>(tile.sum[i], to + i * out); });
      to += kRows * out;
    };
    const float* at = windows.whole == 0 ? nullptr : windows.in_place + k.first * kChannelBlock;
    for (int64_t row = 0; row < windows.whole; row += kTileRows, at += kTileRows * px_.in_channels)
      tile_of(kTileRows, std::integral_constant<int, kTileRows>{},
              [&](auto& tile) HWY_ATTR { tile.add_in_place(k.count, at, px_.in_channels, of_b, FetchNothing{}); });
    const float* panel = windows.panels + k.first * kPanelBlock;
    for (int64_t row = windows.whole; row < count; row += kTileRows, panel += depth_ * kPanelBlock)
      with_rows(std::min<int64_t>(kTileRows, count - row), [&](auto rows) HWY_ATTR {
        tile_of(std::min<int64_t>(decltype(rows)::value, count - row), rows,
                [&](auto& tile) HWY_ATTR { tile.add(k.count, panel, kPanelBlock, of_b, FetchNothing{}); });
      });
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
  int64_t chunk_, block_;                // positions of a piece of the work, and of those multiplied at once
  bool in_place_;
  int64_t slot_, workspace_;  // floats of a slot's panels, of all
  float *weights_, *panels_;
};

/// Runs the pass, or without a workspace says what it wants.
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

bool gemm_forward_pairs(const ConvWindow& window) {
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
