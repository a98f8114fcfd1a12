#include <hwy/cache_control.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/gemm_conv.h"
#include "kernels/cpu/gemm_gradient.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"
#include "kernels/cpu/workspace.h"

#ifndef DPTRAIN_KERNELS_CPU_GEMM_CONV_GRADIENT_ONCE  // this file is read once per instruction set
#define DPTRAIN_KERNELS_CPU_GEMM_CONV_GRADIENT_ONCE
namespace dptrain::kernels::cpu {

/// Size in floats from which a gradient leaves all caches before the optimizer reads it: uses non-temporal stores.
inline constexpr int64_t kStreamedFloats = 2 << 20;
/// Maximum size of a block of the gradient. All its rows read the packed dy of a chunk, which takes half a MiB.
inline constexpr int64_t kBlockColumns = 512, kBlockRows = 512;
/// Pieces of work per thread, if the gradient can be cut into that many: limits the cost of a delayed thread.
inline constexpr int64_t kPiecesOfThread = 3;

}  // namespace dptrain::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/gemm_conv_gradient.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/gemm_gradient_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Weight gradient: products of windows and gradients, summed over the windows. A piece of the work is a block of the
/// gradient and a part of the batch; parts are added in order. Only the blocks depend on the number of threads.
class WeightProducts {
 public:
  WeightProducts(const GemmGradient& gradient, int threads, float* workspace)
      : g_(gradient),
        px_(gradient.pixels),
        groups_(px_),
        rows_(px_.taps * px_.in_channels),
        columns_(px_.out_channels) {
    parts_ = gradient_parts(g_.rows, rows_ * columns_);
    part_windows_ = std::max<int64_t>(1, pieces_of(g_.rows, parts_));
    parts_ = std::max<int64_t>(1, pieces_of(g_.rows, part_windows_));
    chunk_ = even_block(kGradientChunk, part_windows_, kStepPositions);
    wide_ = even_block(kBlockColumns, columns_, kSumColumns);
    across_ = pieces_of(columns_, wide_);
    const int64_t least = pieces_of(groups_.count(), kBlockRows / kSumRows);
    const int64_t wanted = threads == 1 ? 1 : pieces_of(kPiecesOfThread * threads, parts_ * across_);
    down_ = std::max(least, std::min(wanted, groups_.count() / 2));
    down_ = pieces_of(groups_.count(), pieces_of(groups_.count(), down_));

    WorkspaceParts parts(workspace);
    sums_ = parts.take(rows_ * columns_ * (parts_ - 1));
    bias_ = parts.take(bias_step() * parts_);
    b_floats_ = wide_ * chunk_;
    slot_ = b_floats_ + Panels::floats(chunk_);
    if (streams() && chunk_ < part_windows_) slot_ += (kBlockRows / kSumRows + 1) * kSumRows * wide_;
    slots_ = parts.take(slot_ * threads);
    workspace_ = parts.taken();
  }

  int64_t workspace() const { return workspace_; }

  void run() const {
    const int64_t weights = rows_ * columns_;
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
        add_parts(g_.dweights + begin, sums_ + begin, weights, parts_ - 1, end - begin, g_.dweights + begin);
      });
    if (g_.dbias != nullptr) add_parts(bias_, bias_ + bias_step(), bias_step(), parts_ - 1, columns_, g_.dbias);
  }

 private:
  /// A block of the gradient: groups of rows [begin, end) and columns [column, column + columns).
  struct Block {
    int64_t begin, end, column, columns;
  };
  struct Chunk {
    int64_t first, count;
    bool fresh, last;
  };

  int64_t bias_step() const { return pieces_of(columns_, kSumColumns) * kSumColumns; }

  bool streams() const {
    return parts_ == 1 && rows_ * columns_ >= kStreamedFloats && columns_ % kLanes == 0 &&
           reinterpret_cast<uintptr_t>(g_.dweights) % 64 == 0;
  }

  void run_piece(int64_t part, int64_t down, int64_t across, float* b) const {
    const int64_t deep = pieces_of(groups_.count(), down_), column = across * wide_;
    const Block block{down * deep, std::min(groups_.count(), (down + 1) * deep), column,
                      std::min(wide_, columns_ - column)};
    float* const to = part == 0 ? g_.dweights : sums_ + (part - 1) * rows_ * columns_;
    const int64_t begin = part * part_windows_, end = std::min(g_.rows, begin + part_windows_);
    for (int64_t first = begin; first < end; first += chunk_) {
      const int64_t count = std::min(chunk_, end - first), then = first + count;
      pack_gradients(g_.dy + first * columns_ + column, columns_, block.columns, count, b);
      if (down == 0 && g_.dbias != nullptr)
        add_bias(block.columns, count, b, first == begin, bias_ + part * bias_step() + column);
      run_chunk(block, {first, count, first == begin, then == end}, std::min(chunk_, end - then), b, to);
    }
  }

  /// `after`: number of windows of the next chunk.
  void run_chunk(const Block& block, const Chunk& chunk, int64_t after, float* b, float* to) const {
    float* const panels = b + b_floats_;
    const int64_t at_once = even_block(kGroupsAtOnce, block.end - block.begin, 1);
    for (int64_t begin = block.begin; begin < block.end; begin += at_once) {
      const int64_t end = std::min(block.end, begin + at_once);
      Panels::pack(g_, groups_, begin, end, chunk.first, chunk.count, panels);
      UpcomingRows upcoming(g_, chunk.count);
      if (end < block.end) {
        add_groups(end, std::min(block.end, end + at_once), chunk.first, chunk.count, upcoming);
      } else if (after > 0) {
        upcoming.add_gradients(block.column, block.columns, chunk.first + chunk.count, after);
        add_groups(block.begin, std::min(block.end, block.begin + at_once), chunk.first + chunk.count, after, upcoming);
      }
      upcoming.share_among((end - begin) * pieces_of(block.columns, kSumColumns));
      for (int64_t i = begin; i < end; ++i)
        run_group(block, chunk, i, panels + (i - begin) * Panels::step(chunk.count), b, upcoming, to);
    }
  }

  void add_groups(int64_t begin, int64_t end, int64_t first, int64_t count, UpcomingRows& upcoming) const {
    const RowGroup last = groups_[end - 1];
    upcoming.add_pixels(groups_[begin].first, last.first + last.there, first, count);
  }

  void run_group(const Block& block, const Chunk& chunk, int64_t i, const float* panel, float* b,
                 UpcomingRows& upcoming, float* to) const {
    const RowGroup group = groups_[i];
    float* const row = to + group.first * columns_ + block.column;
    float* const partial_sums = b + b_floats_ + Panels::floats(chunk_) + (i - block.begin) * kSumRows * wide_;
    for (int64_t c = 0; c < block.columns; c += kSumColumns) {
      const int64_t left = block.columns - c, width = std::min(left, kSumColumns);
      SumTile tile;
      tile.a = panel;
      tile.b = b + c * chunk.count;
      tile.positions = chunk.count;
      tile.to = row + c;
      tile.to_step = columns_;
      tile.next_c = left > kSumColumns ? row + c + kSumColumns : row + group.there * columns_;
      tile.next_c_step = columns_;
      if (!chunk.fresh) tile.from = tile.to, tile.from_step = columns_;
      if (streams()) redirect_to_buffer(chunk, partial_sums + c * kSumRows, tile);
      tile.ahead = upcoming.take();
      if (group.there == group.rows && width % kLanes == 0)
        add_products(group.rows, width / kLanes, tile);
      else
        run_part_of_tile(group, width, tile);
    }
  }

  /// With non-temporal stores, `partial_sums` contains the sums until the last chunk.
  static void redirect_to_buffer(const Chunk& chunk, float* partial_sums, SumTile& tile) {
    tile.stream = chunk.last;
    tile.next_c = chunk.fresh && chunk.last ? tile.a : partial_sums + kSumRows * kSumColumns;
    tile.next_c_step = chunk.fresh && chunk.last ? 0 : kSumColumns;
    if (!chunk.fresh) tile.from = partial_sums, tile.from_step = kSumColumns;
    if (!chunk.last) tile.to = partial_sums, tile.to_step = kSumColumns;
  }

  /// Tiles padded with extra rows or columns: uses a buffer in place of C.
  HWY_NOINLINE void run_part_of_tile(const RowGroup& group, int64_t width, SumTile tile) const {
    HWY_ALIGN float sums[kSumRows * kSumColumns];
    const auto move = [&](const float* from, int64_t from_step, float* to, int64_t to_step) HWY_ATTR {
      for (int64_t r = 0; r < group.there; ++r)
        std::memcpy(to + r * to_step, from + r * from_step, static_cast<size_t>(width) * sizeof(float));
    };
    float* const to = tile.to;
    const int64_t to_step = tile.to_step;
    if (tile.from != nullptr) move(tile.from, tile.from_step, sums, kSumColumns);
    if (tile.from != nullptr) tile.from = sums, tile.from_step = kSumColumns;
    tile.to = sums;
    tile.to_step = kSumColumns;
    tile.stream = false;
    add_products(group.rows, pieces_of(width, kLanes), tile);
    move(sums, kSumColumns, to, to_step);
  }

  void add_bias(int64_t columns, int64_t count, const float* b, bool fresh, float* bias) const {
    for (int64_t c = 0; c < columns; c += kLanes) {
      const float* const from = b + c / kSumColumns * kSumColumns * count + c % kSumColumns;
      Vec sum = hn::Zero(kFloats);
      for (int64_t r = 0; r < count; ++r) sum = hn::Add(sum, hn::LoadU(kFloats, from + r * kSumColumns));
      hn::StoreU(fresh ? sum : hn::Add(hn::LoadU(kFloats, bias + c), sum), kFloats, bias + c);
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
  RowGroups groups_;
  int64_t rows_, columns_;
  int64_t part_windows_, parts_, chunk_;  // windows of a part; number of parts; windows packed at a time
  int64_t wide_, across_, down_;          // columns of a block; numbers of blocks
  int64_t b_floats_, slot_, workspace_;
  float *sums_, *bias_, *slots_;
};

/// Runs the pass; returns the floats of workspace it needs. Without a workspace it only does the latter.
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
  return gradient.rows >= kGemmConvManyWindows && direct_gradient_fits(gradient.pixels) &&
         gradient.pixels.in_channels * gradient.pixels.out_channels <= kDirectElements;
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
