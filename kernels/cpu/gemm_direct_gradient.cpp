#include <algorithm>
#include <optional>

#include "kernels/cpu/gemm_gradient.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"
#include "kernels/cpu/workspace.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/gemm_direct_gradient.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/gemm_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Blocks of 16 channels and of 16 columns per piece of the work.
inline constexpr int64_t kGradientBlocks = 16;

/// Rows of a block in equidistant lines: a line of windows of an image, or the whole block.
struct RowLines {
  static constexpr int64_t kMax = kDirectChunk;

  int64_t count = 0, length = 0;    ///< lines, rows per line
  int64_t x_step = 0, dy_step = 0;  ///< floats between rows
  const float* x[kMax] = {};        ///< start of each line
  const float* dy = nullptr;        ///< start of the first line; the others follow
};

/// One cache line of each row of the next block, prefetched into the L2 cache while a tile is multiplied.
struct FetchLine {
  const RowLines* rows = nullptr;
  int64_t at = 0;  ///< floats from the first channel or gradient of the row
  bool of_dy = false;

  const float* of_line(int64_t line) const {
    return (of_dy ? rows->dy + line * rows->length * rows->dy_step : rows->x[line]) + at;
  }
  int64_t step() const { return of_dy ? rows->dy_step : rows->x_step; }
};

/// C [kRows][kVectors of columns] (+)= A' B over the rows: A are the kRows channels from `channel` on, B those of dy.
/// `last` loads and stores the last vector: Whole, or partial.
template <int kRows, int kVectors, bool kFetch, class Last>
HWY_NOINLINE void add_rows(const RowLines& rows, int64_t channel, int64_t column, bool add, float* HWY_RESTRICT c,
                           int64_t c_step, Last last, const FetchLine& fetch) {
  const auto load = [&](const float* from, int v) HWY_ATTR {
    return v == kVectors - 1 ? last.load(from + v * kLanes) : hn::LoadU(kFloats, from + v * kLanes);
  };
  Vec sum[kRows][kVectors];
  DPTRAIN_UNROLL for (int r = 0; r < kRows; ++r) {
    DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) { sum[r][v] = add ? load(c + r * c_step, v) : hn::Zero(kFloats); }
  }
  const float* HWY_RESTRICT b = rows.dy + column;
  const int64_t ahead_step = kFetch ? fetch.step() : 0;
  for (int64_t line = 0; line < rows.count; ++line) {
    const float* HWY_RESTRICT a = rows.x[line] + channel;
    const float* ahead = kFetch && line < fetch.rows->count ? fetch.of_line(line) : a;
    _Pragma("GCC unroll 2") for (int64_t k = 0; k < rows.length; ++k, a += rows.x_step, b += rows.dy_step) {
      Vec of_b[kVectors];
      DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) of_b[v] = load(b, v);
      if constexpr (kFetch) {
        __builtin_prefetch(ahead, 0, 2);
        ahead += ahead_step;
      }
      DPTRAIN_UNROLL for (int r = 0; r < kRows; ++r) {
        const Vec of_a = splat(a[r]);
        DPTRAIN_UNROLL for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(of_a, of_b[v], sum[r][v]);
      }
    }
  }
  DPTRAIN_UNROLL for (int r = 0; r < kRows; ++r) {
    float* const to = c + r * c_step;
    DPTRAIN_UNROLL for (int v = 0; v < kVectors - 1; ++v) hn::StoreU(sum[r][v], kFloats, to + v * kLanes);
    last.store(sum[r][kVectors - 1], to + (kVectors - 1) * kLanes);
  }
}

/// Whether each image has one window, so that its rows are those of a matrix.
HWY_INLINE bool is_matrix(const GemmPixels& px) { return px.h * px.w == 1; }
/// Floats of x between neighbouring windows of a line.
HWY_INLINE int64_t x_distance(const GemmPixels& px) {
  return (is_matrix(px) ? px.in_h * px.in_w : px.step_w) * px.in_channels;
}

/// Prefetches the part of the next block of rows that a piece of the work reads, spread over the tiles of this block.
struct Ahead {
  const RowLines& rows;
  int64_t channel, channels, column, columns;
  int64_t tiles = 0, tile = 0;

  std::optional<FetchLine> take() {
    const int64_t of_x = pieces_of(channels, kChannelBlock), lines = of_x + pieces_of(columns, kChannelBlock);
    const int64_t before = tile * lines / tiles;
    if (rows.count * rows.length == 0 || ++tile * lines / tiles == before) return std::nullopt;
    if (before < of_x) return FetchLine{&rows, channel + before * kChannelBlock, false};
    return FetchLine{&rows, column + (before - of_x) * kChannelBlock, true};
  }
};

/// Products of windows of one pixel. A piece of the work is a block of the gradient and a part of the batch, as in
/// gemm_conv_gradient.cpp. Sums accumulate in the gradient, block of rows by block of rows.
class DirectProducts {
 public:
  DirectProducts(const GemmGradient& gradient, float* workspace)
      : g_(gradient), px_(gradient.pixels), in_(px_.in_channels), out_(px_.out_channels) {
    const int64_t in_blocks = channel_blocks(in_), out_blocks = channel_blocks(out_);
    deep_ = even_block(kGradientBlocks, in_blocks, 1) * kChannelBlock;
    wide_ = even_block(kGradientBlocks, out_blocks, 2) * kChannelBlock;
    down_ = pieces_of(in_, deep_);
    across_ = pieces_of(out_, wide_);
    length_ = is_matrix(px_) ? 1 : px_.w;
    rows_ = std::max<int64_t>(1, kDirectChunk / length_) * length_;
    part_rows_ = pieces_of(pieces_of(g_.rows, gradient_parts(g_.rows, in_ * out_)), rows_) * rows_;
    parts_ = pieces_of(g_.rows, part_rows_);
    WorkspaceParts parts(workspace);
    sums_ = parts.take(in_ * out_ * (parts_ - 1));
    bias_ = parts.take(out_ * (parts_ - 1));
    workspace_ = parts.taken();
  }

  int64_t workspace() const { return workspace_; }

  void run() const {
    parallel_for(parts_ * down_ * across_, [&](int64_t piece) HWY_ATTR {
      run_piece(piece / (down_ * across_), piece / across_ % down_, piece % across_);
    });
    if (parts_ == 1) return;
    parallel_ranges(in_ * out_, kPieceElements, [&](int64_t begin, int64_t end) HWY_ATTR {
      add_parts(sums_ + begin, in_ * out_, end - begin, g_.dweights + begin);
    });
    if (g_.dbias != nullptr) add_parts(bias_, out_, out_, g_.dbias);
  }

 private:
  void run_piece(int64_t part, int64_t down, int64_t across) const {
    const int64_t channel = down * deep_, channels = std::min(deep_, in_ - channel);
    const int64_t column = across * wide_, columns = std::min(wide_, out_ - column);
    const int64_t begin = part * part_rows_, end = std::min(g_.rows, begin + part_rows_);
    float* const to = part == 0 ? g_.dweights : sums_ + (part - 1) * in_ * out_;
    float* const bias = part == 0 ? g_.dbias : bias_ + (part - 1) * out_;
    for (int64_t first = begin; first < end; first += rows_) {
      const int64_t count = std::min(rows_, end - first);
      const RowLines rows = lines_of(first, count);
      const RowLines then = lines_of(first + count, std::clamp<int64_t>(end - first - count, 0, rows_));
      Ahead ahead{then, channel, channels, column, columns};
      ahead.tiles = pieces_of(channels, kTileRows) * pieces_of(columns, kTileColumns);
      if (down == 0 && g_.dbias != nullptr) add_bias(rows, column, columns, first > begin, bias + column);
      for (int64_t c = 0; c < channels; c += kTileRows)
        with_rows(channels - c, [&](auto of_tile) HWY_ATTR {
          constexpr int kRows = decltype(of_tile)::value;
          // Few rows use more columns, to have enough independent sums.
          constexpr int kVectors = kRows == kTileRows / 3 ? 2 * kTileVectors : kTileVectors;
          each_tile<kRows, kVectors>(rows, channel + c, column, columns, first > begin, to, ahead);
        });
    }
  }

  template <int kRows, int kVectors>
  HWY_INLINE void each_tile(const RowLines& rows, int64_t channel, int64_t column, int64_t columns, bool add, float* to,
                            Ahead& ahead) const {
    for (int64_t at = 0; at < columns; at += kVectors * kLanes) {
      const int64_t left = columns - at;
      float* const c = to + channel * out_ + column + at;
      const std::optional<FetchLine> fetch = ahead.take();
      with_vectors<kVectors>(pieces_of(left, kLanes), [&](auto vectors) HWY_ATTR {
        constexpr int kCount = decltype(vectors)::value;
        const auto run = [&](auto last) HWY_ATTR {
          if (fetch)
            add_rows<kRows, kCount, true>(rows, channel, column + at, add, c, out_, last, *fetch);
          else
            add_rows<kRows, kCount, false>(rows, channel, column + at, add, c, out_, last, {});
        };
        if (left < kCount * kLanes)
          run(Partial{left - (kCount - 1) * kLanes});
        else
          run(Whole{});
      });
    }
  }

  RowLines lines_of(int64_t first, int64_t count) const {
    RowLines rows;
    const bool whole = is_matrix(px_);
    rows.count = whole ? 1 : count / length_;
    rows.length = whole ? count : length_;
    rows.x_step = x_distance(px_);
    rows.dy_step = out_;
    for (int64_t line = 0; line < rows.count; ++line)
      rows.x[line] = g_.x + px_.in_offset(px_.place(first + line * length_), 0);
    rows.dy = g_.dy + first * out_;
    return rows;
  }

  void add_bias(const RowLines& rows, int64_t column, int64_t columns, bool add, float* bias) const {
    sweep(columns, [&](int64_t c, auto io) HWY_ATTR {
      const float* from = rows.dy + column + c;
      Vec sum = hn::Zero(kFloats);
      for (int64_t r = 0; r < rows.count * rows.length; ++r, from += out_) sum = hn::Add(sum, io.load(from));
      io.store(add ? hn::Add(io.load(bias + c), sum) : sum, bias + c);
    });
  }

  void add_parts(const float* more, int64_t step, int64_t n, float* to) const {
    sweep(n, [&](int64_t i, auto io) HWY_ATTR {
      Vec sum = io.load(to + i);
      for (int64_t part = 0; part < parts_ - 1; ++part) sum = hn::Add(sum, io.load(more + part * step + i));
      io.store(sum, to + i);
    });
  }

  const GemmGradient& g_;
  const GemmPixels& px_;
  int64_t in_, out_;
  int64_t deep_, wide_, down_, across_;        // channels and columns of a block of the gradient; numbers of blocks
  int64_t length_, rows_, part_rows_, parts_;  // rows of a line, a block, a part; parts
  float *sums_, *bias_;                        // sums of all parts but the first
  int64_t workspace_;
};

int64_t direct_products(const GemmGradient& gradient, float* workspace) {
  const DirectProducts products(gradient, workspace);
  if (workspace != nullptr) products.run();
  return products.workspace();
}

/// Whether rows map to the same L1 cache sets (distance a multiple of a page), unless a vector holds a cache line.
bool rows_alias_in_cache(const GemmPixels& px) {
  constexpr int64_t kPageFloats = 1024;
  return kLanes < 16 && (x_distance(px) % kPageFloats == 0 || px.out_channels % kPageFloats == 0);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(direct_products);
HWY_EXPORT(rows_alias_in_cache);

bool direct_gradient_fits(const GemmPixels& px) {
  constexpr int64_t kRowStep = 4, kMinColumns = 16;  // the smallest tile and the widest vector of any instruction set
  return px.taps == 1 && px.tap[0].y == 0 && px.tap[0].x == 0 && (px.h - 1) * px.step_h < px.in_h &&
         (px.w - 1) * px.step_w < px.in_w && px.w <= kDirectChunk && px.in_channels % kRowStep == 0 &&
         px.out_channels >= kMinColumns && !HWY_DYNAMIC_DISPATCH(rows_alias_in_cache)(px);
}

int64_t direct_gradient_workspace(const GemmGradient& gradient) {
  return HWY_DYNAMIC_DISPATCH(direct_products)(gradient, nullptr);
}

void direct_gradient(const GemmGradient& gradient, float* workspace) {
  HWY_DYNAMIC_DISPATCH(direct_products)(gradient, workspace);
}

}  // namespace dptrain::kernels::cpu
#endif
