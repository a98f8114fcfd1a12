// Winograd's pass for the weight gradient.

#if defined(DPTRAIN_KERNELS_CPU_WINOGRAD_GRADIENT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_WINOGRAD_GRADIENT_INL_H
#undef DPTRAIN_KERNELS_CPU_WINOGRAD_GRADIENT_INL_H
#else
#define DPTRAIN_KERNELS_CPU_WINOGRAD_GRADIENT_INL_H
#endif

#include <algorithm>
#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/winograd_gradient.h"
#include "kernels/cpu/winograd_grid.h"
#include "kernels/cpu/winograd_images.h"
#include "kernels/cpu/winograd_tile-inl.h"
#include "kernels/cpu/winograd_weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Two runs of cache lines that the next products read, prefetched into the L2 cache step by step.
struct FetchLines {
  const float *first, *second;
  int64_t first_lines, second_lines, step;

  HWY_INLINE void fetch_some() {
    for (int64_t i = 0; i < step; ++i) {
      if (first_lines > 0) {
        --first_lines;
        __builtin_prefetch(first, 0, 2);
        first += kChannelBlock;
      } else if (second_lines > 0) {
        --second_lines;
        __builtin_prefetch(second, 0, 2);
        second += kChannelBlock;
      }
    }
  }
};

/// Weight gradient: transforms a block of tiles of x and of dy, sums products over the tiles, and inverts at the end.
/// Small gradients: each piece of the batch has its own, in a thread's caches; they are added in order. Large
/// gradients: there is one, a block's points are shared, and threads divide the gradient. If the batch has so few tiles
/// that the sums exceed their points, a thread sums and inverts blocks of the gradient in its cache.
template <class W>
class Gradient {
 public:
  /// `shares`: run() passes the points of dy to a callback, in blocks of a multiple of kTileRows tiles.
  Gradient(const WinogradGradient& gradient, int threads, float* workspace, bool shares = false)
      : g_(gradient),
        s_(gradient.shape),
        grid_(W::kTile, seen(s_.out_h), seen(s_.out_w), gradient.rows),
        in_blocks_(pieces_of(s_.in_channels, kChannelBlock)),
        out_blocks_(pieces_of(s_.out_channels, kChannelBlock)),
        columns_(pieces_of(s_.out_channels, kTileColumns)) {
    sum_point_ = odd_lines(in_blocks_ * kChannelBlock * kTileColumns);
    sum_ = kProducts * sum_point_ * columns_;
    const int64_t parts = std::min<int64_t>(kMaxParts, kPartsBytes / kFloat / sum_);
    divides_sum_ = parts < 2;
    const int64_t tile = kProducts * kChannelBlock * (in_blocks_ + out_blocks_) * kFloat;
    const int64_t most = (divides_sum_ ? kSharedPoints : kOwnPoints) / tile;
    tiles_ = even_block(most, divides_sum_ ? grid_.total : std::max(kMinTiles, pieces_of(grid_.total, parts)), 1);
    const int64_t blocks = pieces_of(grid_.total, tiles_);
    piece_ = divides_sum_ ? grid_.total : pieces_of(std::max<int64_t>(1, blocks), parts) * tiles_;
    if (!divides_sum_ && grid_.total > 0 && piece_ >= kManyImages * grid_.per_image)
      piece_ = pieces_of(piece_, grid_.per_image) * grid_.per_image;
    parts_ = divides_sum_ ? 1 : std::max<int64_t>(1, pieces_of(grid_.total, piece_));
    if (shares) tiles_ = even_block(kSharingPoints / tile, piece_, kTileRows);

    x_block_ = tiles_ * kChannelBlock;
    x_point_ = odd_lines(in_blocks_ * x_block_);
    dy_point_ = odd_lines(out_blocks_ * x_block_);
    group_ = blocks_at_once();
    group_point_ = odd_lines(group_ * kChannelBlock * kTileColumns);

    WorkspaceParts areas(workspace);
    zeros_ = areas.take(std::max(s_.in_channels, s_.out_channels));
    sums_ = areas.take(group_ > 0 ? kProducts * group_point_ * threads : sum_ * parts_);
    bias_ = areas.take(bias_step() * parts_);
    points_slot_ = kProducts * (x_point_ + dy_point_) + bias_step();
    points_ = areas.take(points_slot_ * (divides_sum_ ? 1 : threads));
    workspace_ = areas.taken();
  }

  int64_t workspace() const { return workspace_; }
  const TileGrid& grid() const { return grid_; }
  /// Number of pieces of the batch if each has whole images; 0 if not, or if threads divide the gradient.
  int64_t whole_pieces() const {
    return divides_sum_ || grid_.total == 0 || piece_ % grid_.per_image != 0 ? 0 : parts_;
  }
  SharedPoints points_of_dy() const { return {tiles_, dy_point_, x_block_}; }

  void run() const {
    run([](int64_t, int64_t, const float*, int) {});
  }

  /// Calls hand_on(first, count, points of dy, slot) for each block of tiles, on the thread of the slot.
  template <class HandOn>
  void run(const HandOn& hand_on) const {
    if (grid_.total == 0) return run_nothing();
    std::memset(zeros_, 0, static_cast<size_t>(std::max(s_.in_channels, s_.out_channels)) * sizeof(float));
    if (group_ > 0) return run_blocks();
    if (divides_sum_)
      run_divided();
    else
      parallel_slots(parts_, [&](int64_t part, int slot) HWY_ATTR {
        float* const points = points_ + slot * points_slot_;
        run_part(part * piece_, std::min(grid_.total, (part + 1) * piece_), points, sums_ + part * sum_,
                 bias_ + part * bias_step(), [&](int64_t first, int64_t count) HWY_ATTR {
                   hand_on(first, count, points + kProducts * x_point_, slot);
                 });
      });
    parallel_for(columns_ * s_.in_channels, [&](int64_t piece) HWY_ATTR {
      const int64_t column = piece / s_.in_channels, row = piece % s_.in_channels;
      inverse_filters<W>(sums_ + column * kProducts * sum_point_ + row * kTileColumns, sum_point_, parts_, sum_,
                         s_.in_channels, s_.out_channels, row, column * kTileColumns,
                         std::min(kTileColumns, s_.out_channels - column * kTileColumns), g_.dweights);
    });
    if (g_.dbias != nullptr) add_bias_parts();
  }

 private:
  static constexpr int64_t kProducts = W::kPoints * W::kPoints, kFloat = sizeof(float);
  /// Point (1, 1): all its weights in A dY A' are one, so it is the sum over the tile.
  static constexpr int64_t kSumPoint = W::kPoints + 1;

  int64_t seen(int64_t pixels) const { return s_.pool ? pixels / 2 * 2 : pixels; }
  int64_t bias_step() const { return out_blocks_ * kChannelBlock; }

  /// Number of blocks of 16 input channels whose sums with a block of columns are inverted at once; 0: none. Each group
  /// reads the points of all dy again, which saves writing and reading the sums.
  int64_t blocks_at_once() const {
    if (!divides_sum_ || grid_.total > tiles_) return 0;
    const int64_t bytes = kProducts * kChannelBlock * (tiles_ + kTileColumns) * kFloat;
    const int64_t group = even_block(std::max<int64_t>(1, kSumBlockBytes / bytes), in_blocks_, 1);
    return pieces_of(in_blocks_, group) * dy_point_ * kProducts < 2 * sum_ ? group : 0;
  }

  void run_nothing() const {
    std::memset(g_.dweights, 0, static_cast<size_t>(s_.weights()) * sizeof(float));
    if (g_.dbias != nullptr) std::memset(g_.dbias, 0, static_cast<size_t>(s_.out_channels) * sizeof(float));
  }

  template <class Then>
  void run_part(int64_t begin, int64_t end, float* points, float* sum, float* bias, const Then& then) const {
    for (int64_t first = begin; first < end; first += tiles_) {
      const int64_t count = std::min(tiles_, end - first);
      for (int64_t t = 0; t < count; ++t) transform(first + t, t, points);
      for (int64_t block = 0; block < out_blocks_; ++block) add_bias(block, count, points, first > begin, bias);
      for (int64_t p = 0; p < kProducts; ++p)
        for (int64_t block = 0; block < in_blocks_; ++block) {
          NoPrefetch nothing;
          multiply(p, block, count, points, first > begin, sum, nothing);
        }
      then(first, count);
    }
  }

  void run_divided() const {
    for (int64_t first = 0; first < grid_.total; first += tiles_) {
      const int64_t count = std::min(tiles_, grid_.total - first);
      parallel_for(count, [&](int64_t t) HWY_ATTR { transform(first + t, t, points_); });
      parallel_slots(out_blocks_ + kProducts * in_blocks_, [&](int64_t piece, int) HWY_ATTR {
        if (piece < out_blocks_) return add_bias(piece, count, points_, first > 0, bias_);
        const int64_t p = (piece - out_blocks_) / in_blocks_, block = (piece - out_blocks_) % in_blocks_;
        FetchLines next = part_of_point(p + 1, block, count);
        multiply(p, block, count, points_, first > 0, sums_, next);
      });
    }
  }

  /// The part of point p that one of in_blocks_ pieces prefetches; empty if the sums dominate the memory traffic.
  FetchLines part_of_point(int64_t p, int64_t block, int64_t count) const {
    if (p >= kProducts || sum_point_ * columns_ > 2 * (x_point_ + dy_point_)) return {};
    const int64_t dy_lines = out_blocks_ * tiles_, begin = dy_lines * block / in_blocks_;
    FetchLines part{.first = points_ + p * x_point_ + block * x_block_,
                    .second = points_ + kProducts * x_point_ + p * dy_point_ + begin * kChannelBlock,
                    .first_lines = count,
                    .second_lines = dy_lines * (block + 1) / in_blocks_ - begin,
                    .step = 0};
    const int64_t calls = columns_ * kRowParts * pieces_of(count, kFetchRows);
    part.step = pieces_of(part.first_lines + part.second_lines, calls);
    return part;
  }

  void run_blocks() const {
    parallel_for(grid_.total, [&](int64_t t) HWY_ATTR { transform(t, t, points_); });
    parallel_for(out_blocks_, [&](int64_t block) HWY_ATTR { add_bias(block, grid_.total, points_, false, bias_); });
    parallel_slots(pieces_of(in_blocks_, group_) * columns_, [&](int64_t piece, int slot) HWY_ATTR {
      finish_block(piece / columns_ * group_, piece % columns_, sums_ + slot * kProducts * group_point_);
    });
    if (g_.dbias != nullptr) add_bias_parts();
  }

  /// Gradient of group_ blocks of input channels and one block of columns.
  void finish_block(int64_t first, int64_t column, float* sums) const {
    const int64_t end = std::min(in_blocks_, first + group_);
    NoPrefetch nothing;
    for (int64_t p = 0; p < kProducts; ++p)
      for (int64_t block = first; block < end; ++block)
        multiply_column(p, block, column, grid_.total, points_, false,
                        sums + p * group_point_ + (block - first) * kChannelBlock * kTileColumns, nothing);
    for (int64_t row = first * kChannelBlock; row < std::min(s_.in_channels, end * kChannelBlock); ++row)
      inverse_filters<W>(sums + (row - first * kChannelBlock) * kTileColumns, group_point_, 1, 0, s_.in_channels,
                         s_.out_channels, row, column * kTileColumns,
                         std::min(kTileColumns, s_.out_channels - column * kTileColumns), g_.dweights);
  }

  /// Sum of point p for 16 input channels and all output channels.
  template <class Ahead>
  void multiply(int64_t p, int64_t block, int64_t count, const float* points, bool add, float* sum,
                Ahead& ahead) const {
    for (int64_t column = 0; column < columns_; ++column)
      multiply_column(p, block, column, count, points, add,
                      sum + (column * kProducts + p) * sum_point_ + block * kChannelBlock * kTileColumns, ahead);
  }

  template <class Ahead>
  HWY_INLINE void multiply_column(int64_t p, int64_t block, int64_t column, int64_t count, const float* points,
                                  bool add, float* sum, Ahead& ahead) const {
    const float* const x = points + p * x_point_ + block * x_block_;
    const float* const dy = points + kProducts * x_point_ + p * dy_point_;
    const int64_t first = column * kTileColumns;
    with_vectors(tile_vectors(s_.out_channels, first), [&](auto vectors) HWY_ATTR {
      multiply_rows<decltype(vectors)::value>(count, x, dy + first / kChannelBlock * x_block_ + first % kChannelBlock,
                                              x_block_, sum, add, ahead);
    });
  }

  void add_bias(int64_t block, int64_t count, const float* points, bool add, float* bias) const {
    const float* const from = points + kProducts * x_point_ + kSumPoint * dy_point_ + block * x_block_;
    for (int64_t c = 0; c < kChannelBlock; c += kLanes) {
      float* const to = bias + block * kChannelBlock + c;
      Vec sum = add ? hn::LoadU(kFloats, to) : hn::Zero(kFloats);
      for (int64_t t = 0; t < count; ++t) sum = hn::Add(sum, hn::LoadU(kFloats, from + t * kChannelBlock + c));
      hn::StoreU(sum, kFloats, to);
    }
  }

  void add_bias_parts() const {
    sweep(s_.out_channels, [&](int64_t c, auto io) HWY_ATTR {
      Vec sum = hn::LoadU(kFloats, bias_ + c);
      for (int64_t part = 1; part < parts_; ++part)
        sum = hn::Add(sum, hn::LoadU(kFloats, bias_ + part * bias_step() + c));
      io.store(sum, g_.dbias + c);
    });
  }

  /// Writes the points of tile t of x and of dy to row `row` of a block.
  HWY_INLINE void transform(int64_t t, int64_t row, float* points) const {
    const TileGrid::Place place = grid_.place(t);
    const Picture in{s_.in_h, s_.in_w, s_.in_channels};
    const int64_t top = place.y - s_.pad_top, left = place.x - s_.pad_left;
    transform_input<W>(Window<W::kPoints>(g_.x, in, place.image, top, left, zeros_),
                       RowsAhead<W::kTile>(g_.x, in, place.image, top, place.x, W::kPoints), in.channels,
                       PointStore<true>{points + row * kChannelBlock, x_point_, x_block_});
    transform_gradient_tile<W>(
        s_, g_.dy, g_.argmax, place, zeros_,
        PointStore<true>{points + kProducts * x_point_ + row * kChannelBlock, dy_point_, x_block_});
  }

  WinogradGradient g_;
  const WinogradShape& s_ = g_.shape;
  TileGrid grid_;
  int64_t in_blocks_, out_blocks_, columns_;  // blocks of 16 channels; blocks of kTileColumns
  bool divides_sum_;
  int64_t tiles_, piece_, parts_;  // tiles per block, tiles per piece of the batch; pieces
  int64_t x_block_, x_point_, dy_point_, sum_point_, sum_;
  int64_t group_,
      group_point_;  // blocks of input channels completed at once, or 0; floats per point of these
  float *zeros_, *sums_, *bias_, *points_;
  int64_t points_slot_, workspace_;
};

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
