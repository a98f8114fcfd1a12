#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/gemm_conv.h"
#include "kernels/cpu/gemm_gradient.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/room.h"
#include "kernels/cpu/targets.h"

#ifndef DPTRAIN_KERNELS_CPU_GEMM_CONV_GRADIENT_ONCE  // this file is read once per instruction set
#define DPTRAIN_KERNELS_CPU_GEMM_CONV_GRADIENT_ONCE
namespace dptrain::kernels::cpu {

/// Floats of a gradient that no cache holds until the optimizer reads it: written past the caches.
inline constexpr int64_t kStreamedFloats = 2 << 20;

}  // namespace dptrain::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/gemm_conv_gradient.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/gemm_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// The part of windows and gradients that will be packed next: fetched into the second cache while the one before is
/// multiplied.
class Upcoming {
 public:
  /// Windows [first, end), blocks `range` of K and `columns` from `column`; `lines` at each fetch_some().
  Upcoming(const GemmGradient& g, DepthRange range, int64_t column, int64_t columns, int64_t first, int64_t end)
      : g_(g), range_(range), column_(column), columns_(columns), row_(first), end_(end) {}

  /// As many lines at a time as spread them over `products` products of `rows` rows.
  void spread_over(int64_t products, int64_t rows) {
    const int64_t lines = (end_ - row_) * (range_.count + channel_blocks(columns_));
    const int64_t calls = products * kRowParts * pieces_of(rows, kFetchRows);
    step_ = end_ > row_ ? pieces_of(lines, std::max<int64_t>(1, calls)) : 0;
  }

  HWY_INLINE void fetch_some() {
    for (int64_t i = 0; i < step_; ++i) {
      if (left_ == 0 && !next_part()) return;
      __builtin_prefetch(at_, 0, 2);
      at_ += kChannelBlock;
      --left_;
    }
  }

 private:
  HWY_NOINLINE bool next_part() {
    if (part_ == parts_) {
      if (row_ == end_) {
        step_ = 0;
        return false;
      }
      find_parts();
    }
    at_ = from_[part_];
    left_ = lines_[part_++];
    return true;
  }

  void find_parts() {
    const GemmPixels& px = g_.pixels;
    const GemmPixels::Place place = px.place(row_);
    part_ = parts_ = 0;
    add_part(g_.dy + row_ * px.out_channels + column_, channel_blocks(columns_));
    each_tap(px.in_channels, range_, [&](int64_t tap, int64_t block, int64_t blocks, int64_t) HWY_ATTR {
      const int64_t at = px.in_offset(place, tap);
      if (at >= 0) add_part(g_.x + at + block * kChannelBlock, blocks);
    });
    ++row_;
  }

  void add_part(const float* from, int64_t lines) {
    from_[parts_] = from;
    lines_[parts_++] = lines;
  }

  const GemmGradient& g_;
  DepthRange range_;
  int64_t column_, columns_, row_, end_, step_ = 0;
  const float* at_ = nullptr;
  int64_t left_ = 0, part_ = 0, parts_ = 0;
  const float* from_[kGradientBlocks + 1] = {};
  int64_t lines_[kGradientBlocks + 1] = {};
};

/// Gradient of the weights: products of windows and gradients, summed over the windows. A piece of the work is a block
/// of the gradient and a part of the batch; parts are added in order at the end.
class WeightProducts {
 public:
  WeightProducts(const GemmGradient& gradient, int threads, float* workspace)
      : g_(gradient),
        px_(gradient.pixels),
        in_blocks_(channel_blocks(px_.in_channels)),
        depth_(px_.taps * in_blocks_),
        columns_(px_.out_channels) {
    const int64_t out_blocks = channel_blocks(columns_);
    deep_ = even_block(kGradientBlocks, depth_, 1);
    wide_ = even_block(kGradientBlocks, out_blocks, 2);
    down_ = pieces_of(depth_, deep_);
    across_ = pieces_of(out_blocks, wide_);
    part_rows_ = std::max<int64_t>(1, pieces_of(g_.rows, gradient_parts(g_.rows, down_ * across_)));
    parts_ = std::max<int64_t>(1, pieces_of(g_.rows, part_rows_));
    rows_ = even_block(kGradientRows, part_rows_, 1);

    Room room(workspace);
    sums_step_ = lines(px_.taps * px_.in_channels * columns_);
    sums_ = room.take(sums_step_ * (parts_ - 1));
    bias_step_ = out_blocks * kChannelBlock;
    bias_ = room.take(bias_step_ * parts_);
    block_ = rows_ * kChannelBlock;
    a_floats_ = deep_ * block_;
    b_floats_ = wide_ * block_;
    c_floats_ = pieces_of(wide_ * kChannelBlock, kTileColumns) * deep_ * kTileFloats;
    slot_ = a_floats_ + b_floats_ + lines(rows_ < part_rows_ ? c_floats_ : kTileFloats);
    slots_ = room.take(slot_ * threads);
    workspace_ = room.taken();
  }

  int64_t workspace() const { return workspace_; }

  void run() const {
    const int64_t weights = px_.taps * px_.in_channels * columns_;
    if (g_.rows == 0) {
      std::memset(g_.dweights, 0, static_cast<size_t>(weights) * sizeof(float));
      if (g_.dbias != nullptr) std::memset(g_.dbias, 0, static_cast<size_t>(columns_) * sizeof(float));
      return;
    }
    parallel_slots(parts_ * down_ * across_, [&](int64_t piece, int slot) HWY_ATTR {
      run_piece(piece / (down_ * across_), piece / across_ % down_, piece % across_, slots_ + slot * slot_);
      if (streams()) hwy::FlushStream();
    });
    if (parts_ > 1)
      parallel_ranges(weights, kPieceElements, [&](int64_t begin, int64_t end) HWY_ATTR {
        add_parts(g_.dweights + begin, sums_ + begin, sums_step_, parts_ - 1, end - begin, g_.dweights + begin);
      });
    if (g_.dbias != nullptr) add_parts(bias_, bias_ + bias_step_, bias_step_, parts_ - 1, columns_, g_.dbias);
  }

 private:
  static constexpr int64_t kTileFloats = kChannelBlock * kTileColumns;

  bool streams() const {
    return parts_ == 1 && px_.taps * px_.in_channels * columns_ >= kStreamedFloats && columns_ % kChannelBlock == 0 &&
           reinterpret_cast<uintptr_t>(g_.dweights) % 64 == 0;
  }

  void run_piece(int64_t part, int64_t down, int64_t across, float* room) const {
    float *const a = room, *const b = a + a_floats_, *const c = b + b_floats_;
    const DepthRange range{down * deep_, std::min(deep_, depth_ - down * deep_)};
    const int64_t column = across * wide_ * kChannelBlock, end = std::min(g_.rows, (part + 1) * part_rows_);
    const int64_t columns = std::min(wide_ * kChannelBlock, columns_ - column);
    float* const to = part == 0 ? g_.dweights : sums_ + (part - 1) * sums_step_;
    for (int64_t first = part * part_rows_; first < end; first += rows_) {
      const int64_t count = std::min(rows_, end - first);
      const bool fresh = first == part * part_rows_, last = first + count == end;
      pack(range, column, columns, first, count, a, b);
      Upcoming next(g_, range, column, columns, first + count, std::min(end, first + count + rows_));
      next.spread_over(range.count * pieces_of(columns, kTileColumns), count);
      if (down == 0 && g_.dbias != nullptr) add_bias(columns, count, b, fresh, bias_ + part * bias_step_ + column);
      for (int64_t k = 0; k < range.count; ++k)
        for (int64_t tile = 0; tile < columns; tile += kTileColumns) {
          float* const sums = c + (fresh && last ? 0 : (tile / kTileColumns * deep_ + k) * kTileFloats);
          with_vectors(tile_vectors(columns, tile), [&](auto vectors) HWY_ATTR {
            multiply_rows<decltype(vectors)::value>(count, a + k * block_,
                                                    b + tile / kChannelBlock * block_ + tile % kChannelBlock, block_,
                                                    sums, !fresh, next);
          });
          if (last) store(sums, range.first + k, column + tile, std::min(kTileColumns, columns - tile), to);
        }
    }
  }

  void pack(DepthRange range, int64_t column, int64_t columns, int64_t first, int64_t count, float* a, float* b) const {
    for (int64_t r = 0; r < count; ++r) {
      const GemmPixels::Place place = px_.place(first + r);
      each_tap(px_.in_channels, range, [&](int64_t tap, int64_t block, int64_t blocks, int64_t done) HWY_ATTR {
        const int64_t at = px_.in_offset(place, tap);
        copy_blocks(at < 0 ? nullptr : g_.x + at, px_.in_channels, block, blocks, a + done * block_ + r * kChannelBlock,
                    block_);
      });
      copy_blocks(g_.dy + (first + r) * columns_, columns_, column / kChannelBlock, channel_blocks(columns),
                  b + r * kChannelBlock, block_);
    }
  }

  void add_bias(int64_t columns, int64_t count, const float* b, bool fresh, float* bias) const {
    for (int64_t c = 0; c < channel_blocks(columns) * kChannelBlock; c += kLanes) {
      const float* const from = b + c / kChannelBlock * block_ + c % kChannelBlock;
      Vec sum = hn::Zero(kFloats);
      for (int64_t r = 0; r < count; ++r) sum = hn::Add(sum, hn::LoadU(kFloats, from + r * kChannelBlock));
      hn::StoreU(fresh ? sum : hn::Add(hn::LoadU(kFloats, bias + c), sum), kFloats, bias + c);
    }
  }

  /// The 16 rows of a finished tile that are there.
  void store(const float* sums, int64_t block, int64_t column, int64_t count, float* to) const {
    const int64_t channel = block % in_blocks_ * kChannelBlock;
    const int64_t rows = std::min(kChannelBlock, px_.in_channels - channel);
    to += (block / in_blocks_ * px_.in_channels + channel) * columns_ + column;
    const bool stream = streams();
    for (int64_t r = 0; r < rows; ++r, to += columns_, sums += kTileColumns) {
      if (stream)
        for (int64_t c = 0; c < count; c += kLanes) hn::Stream(hn::LoadU(kFloats, sums + c), kFloats, to + c);
      else
        sweep(count, [&](int64_t c, auto io) HWY_ATTR { io.store(io.load(sums + c), to + c); });
    }
  }

  static void add_parts(const float* first, const float* more, int64_t step, int64_t count, int64_t n, float* to) {
    sweep(n, [&](int64_t i, auto io) HWY_ATTR {
      Vec sum = io.load(first + i);
      for (int64_t part = 0; part < count; ++part) sum = hn::Add(sum, io.load(more + part * step + i));
      io.store(sum, to + i);
    });
  }

  const GemmGradient& g_;
  const GemmPixels& px_;
  int64_t in_blocks_, depth_, columns_;  // blocks of 16 of a tap's channels and of K
  int64_t deep_, wide_, down_, across_;  // blocks of 16 in a piece's block of the gradient; such blocks
  int64_t part_rows_, parts_, rows_;     // windows of a part; parts; windows that are packed at a time
  int64_t sums_step_, bias_step_, block_, a_floats_, b_floats_, c_floats_, slot_, workspace_;
  float *sums_, *bias_, *slots_;
};

/// Runs the pass, or without a workspace says what it wants.
int64_t gemm_gradient(const GemmGradient& gradient, int threads, float* workspace) {
  const WeightProducts products(gradient, threads, workspace);
  if (workspace != nullptr) products.run();
  return products.workspace();
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(gemm_gradient);

namespace {

GemmGradient gradient_of(ConvWindow window, int64_t rows) {
  rows = flatten_pixels(window, rows);
  GemmGradient gradient{.pixels = forward_pixels(window)};
  gradient.rows = rows * gradient.pixels.h * gradient.pixels.w;
  return gradient;
}

bool reads_in_place(const GemmGradient& gradient) {
  return gradient.rows >= kGemmConvManyWindows && direct_gradient_fits(gradient.pixels);
}

}  // namespace

bool gemm_conv_reads_in_place(const ConvWindow& window) { return direct_gradient_fits(gradient_of(window, 1).pixels); }

int64_t gemm_conv_backward_weights_workspace(const ConvWindow& window, int64_t rows, int threads) {
  const GemmGradient gradient = gradient_of(window, rows);
  if (reads_in_place(gradient)) return direct_gradient_workspace(gradient);
  return HWY_DYNAMIC_DISPATCH(gemm_gradient)(gradient, threads, nullptr);
}

void gemm_conv_backward_weights(const ConvWindow& window, const float* x, const float* dy, int64_t rows,
                                float* workspace, float* dweights, float* dbias) {
  GemmGradient gradient = gradient_of(window, rows);
  gradient.x = x;
  gradient.dy = dy;
  gradient.dweights = dweights;
  gradient.dbias = dbias;
  if (reads_in_place(gradient)) return direct_gradient(gradient, workspace);
  HWY_DYNAMIC_DISPATCH(gemm_gradient)(gradient, thread_count(), workspace);
}

}  // namespace dptrain::kernels::cpu
#endif
