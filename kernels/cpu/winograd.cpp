#include "kernels/cpu/winograd.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"
#include "kernels/cpu/winograd_grid.h"

#ifndef DPTRAIN_KERNELS_CPU_WINOGRAD_ONCE  // this file is read once per instruction set
#define DPTRAIN_KERNELS_CPU_WINOGRAD_ONCE
namespace dptrain::kernels::cpu {

/// What a forward or backward data pass is given. `in` is x or dy, `out` is y or dx.
struct WinogradImages {
  WinogradShape shape;
  int64_t rows = 0;
  const float *in = nullptr, *weights = nullptr, *bias = nullptr;
  const uint8_t* taken_in = nullptr;
  float* out = nullptr;
  uint8_t* taken_out = nullptr;
};

/// Transformed filters of more bytes do not stay in the second cache beside a block: they are "big". With 2 MiB of it,
/// 3x3 from 128 to 128 channels (2.3 MiB) takes 0.71 to 0.86 of the time so.
inline constexpr int64_t kFewFilters = 1536 << 10;
/// A block's points and products take at most so many bytes, which stay in the second cache.
inline constexpr int64_t kBlockBytes = 288 << 10;
/// Big filters meet so many tiles in each pass over them.
inline constexpr int64_t kManyTiles = 144;
/// So many blocks of their columns share a pass over a tile's points.
inline constexpr int64_t kAbreast = 2;
/// Up to so many tiles in all, threads divide the columns of big filters, not the tiles.
inline constexpr int64_t kFewTiles = 256;
/// A slice of the depth has at most so many bytes of transformed filters and points.
inline constexpr int64_t kSliceBytes = 1 << 20;
/// A slice of fewer blocks of 16 channels saves less than loading and storing its sums costs.
inline constexpr int64_t kLeastSlice = 4;

}  // namespace dptrain::kernels::cpu
#endif

#define HWY_TARGET_INCLUDE "kernels/cpu/winograd.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/winograd_tile-inl.h"
#include "kernels/cpu/winograd_weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Forward and backward data alike: points of a block of tiles, products with the transformed filters per point,
/// inverse, for blocks that stay in the second cache. Filters too large for it are met by larger blocks of tiles; where
/// there are few tiles in all, threads share the points of all of them and divide the columns, whose filters they
/// transform as they go, a slice of the depth that stays in the second cache at a time.
template <class W, bool kBackward>
class Images {
 public:
  Images(const WinogradImages& images, int threads, float* workspace)
      : i_(images),
        s_(images.shape),
        grid_(W::kTile, seen(s_.out_h), seen(s_.out_w), images.rows),
        filters_{images.weights, s_.in_channels, s_.out_channels, kBackward},
        depth_((filters_.rows() + kChannelBlock - 1) / kChannelBlock),
        columns_((filters_.columns() + kTileColumns - 1) / kTileColumns) {
    const int64_t block_bytes = kProducts * kChannelBlock * kFloat;
    big_ = block_bytes * kTileColumns * depth_ * columns_ > kFewFilters;
    divides_columns_ = big_ && grid_.total <= kFewTiles;
    const int64_t slice = kSliceBytes / (block_bytes * (kTileColumns + grid_.total));
    slice_ = divides_columns_ && slice >= kLeastSlice ? even_block(slice, depth_, 1) : depth_;
    filter_point_ = odd_lines(slice_ * kChannelBlock * kTileColumns);
    const int64_t tile_bytes = kProducts * kFloat * (depth_ * kChannelBlock + (big_ ? 0 : kTileColumns));
    const int64_t most = big_ ? kManyTiles : kBlockBytes / tile_bytes;
    tiles_ = divides_columns_ ? pieces_of(grid_.total, kTileRows) * kTileRows
                              : even_block(most, pieces_of(grid_.total, threads), kTileRows);
    abreast_ = big_ && !divides_columns_ ? std::min<int64_t>(columns_, kAbreast) : 1;
    panel_ = depth_ * kPanelBlock;
    input_point_ = odd_lines(tiles_ / kTileRows * panel_);
    product_point_ = odd_lines(tiles_ * kTileColumns);

    Room room(workspace);
    zeros_ = room.take(std::max(s_.in_channels, s_.out_channels));
    const int64_t filter_room = kProducts * filter_point_ * (divides_columns_ ? 1 : columns_);
    const int64_t points_room = kProducts * input_point_, product_room = kProducts * product_point_ * abreast_;
    u_ = room.take(filter_room * (divides_columns_ ? threads : 1));
    u_slot_ = divides_columns_ ? lines(filter_room) : 0;
    points_ = room.take(points_room * (divides_columns_ ? 1 : threads));
    points_slot_ = divides_columns_ ? 0 : points_room;
    products_slot_ = product_room + lines(std::max(filters_.columns(), kTileColumns));
    products_ = room.take(products_slot_ * threads);
    workspace_ = room.taken();
  }

  int64_t workspace() const { return workspace_; }

  void run() const {
    if (grid_.total == 0) return;
    std::memset(zeros_, 0, static_cast<size_t>(std::max(s_.in_channels, s_.out_channels)) * sizeof(float));
    if (divides_columns_) return run_columns();
    parallel_for(columns_ * depth_, [&](int64_t piece) HWY_ATTR {
      const int64_t column = piece / depth_, block = piece % depth_;
      transform_filter_block(column, block, block, u_ + column * kProducts * filter_point_);
    });
    // The gradient of an image is written by one thread: neighbouring tiles add to each other's border.
    const int64_t images = std::max<int64_t>(1, tiles_ / grid_.per_image);
    const int64_t piece = kBackward ? images * grid_.per_image : tiles_;
    parallel_slots(pieces_of(grid_.total, piece), [&](int64_t p, int slot) HWY_ATTR {
      const int64_t end = std::min(grid_.total, (p + 1) * piece);
      const int64_t each = even_block(tiles_, end - p * piece, kTileRows);
      for (int64_t t = p * piece; t < end; t += each) run_block(t, std::min(each, end - t), slot);
    });
  }

 private:
  static constexpr int64_t kProducts = W::kPoints * W::kPoints, kFloat = sizeof(float);

  /// Pixels of the output that tiles must cover; backward those that give nothing are still written to.
  int64_t seen(int64_t pixels) const { return s_.pool && !kBackward ? pixels / 2 * 2 : pixels; }

  /// Block `block` of 16 rows and one of columns, as block `to` of a slice.
  void transform_filter_block(int64_t column, int64_t block, int64_t to, float* u) const {
    const int64_t vectors = tile_vectors(filters_.columns(), column * kTileColumns);
    transform_filters<W>(filters_, block * kChannelBlock, column * kTileColumns, vectors, filter_point_,
                         u + to * kChannelBlock * vectors * kLanes);
  }

  void run_block(int64_t first, int64_t count, int slot) const {
    float* const points = points_ + slot * points_slot_;
    float* const products = products_ + slot * products_slot_;
    for (int64_t t = 0; t < count; ++t) transform(first + t, t, points);
    for (int64_t column = 0; column < columns_; column += abreast_) {
      const int64_t abreast = std::min(abreast_, columns_ - column);
      multiply_columns(column, abreast, count, points, depth_, false, u_ + column * kProducts * filter_point_,
                       products);
      inverse_columns(column, abreast, first, count, products);
    }
  }

  void run_columns() const {
    parallel_for(grid_.total, [&](int64_t t) HWY_ATTR { transform(t, t, points_); });
    parallel_slots(columns_, [&](int64_t column, int slot) HWY_ATTR {
      float* const u = u_ + slot * u_slot_;
      float* const products = products_ + slot * products_slot_;
      for (int64_t block = 0; block < depth_; block += slice_) {
        const int64_t blocks = std::min(slice_, depth_ - block);
        for (int64_t b = 0; b < blocks; ++b) transform_filter_block(column, block + b, b, u);
        multiply_columns(column, 1, grid_.total, points_ + block * kPanelBlock, blocks, block > 0, u, products);
      }
      inverse_columns(column, 1, 0, grid_.total, products);
    });
  }

  /// Products of `count` tiles for `abreast` blocks of columns, over `blocks` blocks of 16 channels.
  void multiply_columns(int64_t column, int64_t abreast, int64_t count, const float* points, int64_t blocks, bool add,
                        const float* u, float* products) const {
    for (int64_t p = 0; p < kProducts; ++p)
      for (int64_t c = 0; c < abreast; ++c) {
        const float* const filters = u + (c * kProducts + p) * filter_point_;
        const float* const from = points + p * input_point_;
        const bool turns = c + 1 == abreast, ends = turns && p + 1 == kProducts;
        const float* const next_u = ends ? filters : u + (turns ? p + 1 : (c + 1) * kProducts + p) * filter_point_;
        const NextOperands next{turns && !ends ? from + input_point_ : from, slice_ < depth_ ? nullptr : next_u};
        float* const to = products + (c * kProducts + p) * product_point_;
        if (big_)
          multiply<true>(column + c, count, from, blocks, filters, next, add, to);
        else
          multiply<false>(column + c, count, from, blocks, filters, next, add, to);
      }
  }

  void inverse_columns(int64_t column, int64_t abreast, int64_t first, int64_t count, float* products) const {
    float* const outside = products + products_slot_ - lines(std::max(filters_.columns(), kTileColumns));
    for (int64_t c = 0; c < abreast; ++c)
      for (int64_t t = 0; t < count; ++t)
        inverse(first + t, (column + c) * kTileColumns, products + c * kProducts * product_point_ + t * kTileColumns,
                outside);
  }

  template <bool kFetch>
  HWY_INLINE void multiply(int64_t column, int64_t count, const float* points, int64_t blocks, const float* u,
                           const NextOperands& next, bool add, float* products) const {
    with_vectors(tile_vectors(filters_.columns(), column * kTileColumns), [&](auto vectors) HWY_ATTR {
      multiply_panels<decltype(vectors)::value, kFetch>(count, blocks, points, panel_, u, next, add, products);
    });
  }

  /// Points of tile t, as row `row` of a block.
  HWY_INLINE void transform(int64_t t, int64_t row, float* points) const {
    if (big_)
      transform_to<true>(t, row, points);
    else
      transform_to<false>(t, row, points);
  }

  template <bool kFar>
  HWY_INLINE void transform_to(int64_t t, int64_t row, float* points) const {
    const auto [image, y, x] = grid_.place(t);
    const PointStore<kFar> to{points + row / kTileRows * panel_ + row % kTileRows * kChannelBlock, input_point_,
                              kPanelBlock};
    if constexpr (!kBackward) {
      const Picture in{s_.in_h, s_.in_w, s_.in_channels};
      const int64_t top = y - s_.pad_top, left = x - s_.pad_left;
      transform_input<W>(Window<W::kPoints>(i_.in, in, image, top, left, zeros_),
                         RowsAhead<W::kTile>(i_.in, in, image, top, x, W::kPoints), in.channels, to);
    } else {
      if constexpr (W::kTile % 2 == 0) {
        if (s_.pool) {
          const Picture pooled{s_.out_h / 2, s_.out_w / 2, s_.out_channels};
          const auto* none = reinterpret_cast<const uint8_t*>(zeros_);
          return transform_pooled_gradient<W>(
              Window<W::kTile / 2>(i_.in, pooled, image, y / 2, x / 2, zeros_),
              Window<W::kTile / 2, const uint8_t>(i_.taken_in, pooled, image, y / 2, x / 2, none),
              RowsAhead<W::kTile / 2>(i_.in, pooled, image, y / 2, x / 2, W::kTile / 2), pooled.channels, to);
        }
      }
      const Picture out{s_.out_h, s_.out_w, s_.out_channels};
      transform_gradient<W>(Window<W::kTile>(i_.in, out, image, y, x, zeros_),
                            RowsAhead<W::kTile>(i_.in, out, image, y, x, W::kTile), out.channels, to);
    }
  }

  HWY_INLINE void inverse(int64_t t, int64_t column, const float* products, float* outside) const {
    const auto [image, y, x] = grid_.place(t);
    const int64_t count = std::min(kTileColumns, filters_.columns() - column);
    if constexpr (kBackward) {
      const Picture in{s_.in_h, s_.in_w, s_.in_channels};
      store_input_gradient<W>(products, product_point_, column, count, y > 0, x > 0,
                              Window<W::kPoints, float>(i_.out, in, image, y - s_.pad_top, x - s_.pad_left, outside),
                              RowsAhead<W::kTile, true>(i_.out, in, image, y - s_.pad_top, x, W::kPoints), in.channels);
    } else {
      const Finish finish{i_.bias, s_.relu};
      if constexpr (W::kTile % 2 == 0) {
        if (s_.pool) {
          const Picture pooled{s_.out_h / 2, s_.out_w / 2, s_.out_channels};
          const Window<W::kTile / 2, uint8_t> taken(i_.taken_out, pooled, image, y / 2, x / 2,
                                                    reinterpret_cast<uint8_t*>(outside));
          return store_pooled_output<W>(products, product_point_, column, count, finish,
                                        Window<W::kTile / 2, float>(i_.out, pooled, image, y / 2, x / 2, outside),
                                        i_.taken_out == nullptr ? nullptr : &taken);
        }
      }
      const Picture out{s_.out_h, s_.out_w, s_.out_channels};
      store_output<W>(products, product_point_, column, count, finish,
                      Window<W::kTile, float>(i_.out, out, image, y, x, outside), out.channels);
    }
  }

  WinogradImages i_;
  const WinogradShape& s_ = i_.shape;
  TileGrid grid_;
  Filters filters_;
  int64_t depth_, columns_;     // blocks of 16 rows and of kTileColumns columns of the filters
  bool big_, divides_columns_;  // filters beyond the second cache; few tiles besides
  int64_t slice_;               // blocks of 16 rows whose filters are transformed and used at once
  int64_t tiles_;               // in a block of points and of products
  int64_t abreast_;             // blocks of columns that share a pass over the points
  int64_t panel_, input_point_, filter_point_, product_point_;
  float *zeros_, *u_, *points_, *products_;
  int64_t u_slot_, points_slot_, products_slot_;  // floats from one slot's to the next
  int64_t workspace_;
};

/// Runs the pass, or without a workspace says what it wants.
template <bool kBackward>
int64_t images(const WinogradImages& images, int threads, float* workspace) {
  const auto with = [&](auto w) HWY_ATTR {
    const Images<decltype(w), kBackward> pass(images, threads, workspace);
    if (workspace != nullptr) pass.run();
    return pass.workspace();
  };
  switch (tile_of(images.shape)) {
    case WinogradTile::k4x3: return with(F4x3{});
    case WinogradTile::k3x3: return with(F3x3{});
    case WinogradTile::k6x3: return with(F6x3{});
    case WinogradTile::k2x5: return with(F2x5{});
    case WinogradTile::k4x5: return with(F4x5{});
  }
  return 0;
}

int64_t winograd_forward_images(const WinogradImages& given, int threads, float* workspace) {
  return images<false>(given, threads, workspace);
}
int64_t winograd_backward_images(const WinogradImages& given, int threads, float* workspace) {
  return images<true>(given, threads, workspace);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(winograd_forward_images);
HWY_EXPORT(winograd_backward_images);

const char* winograd_tile(const WinogradShape& shape) { return facts_of(tile_of(shape)).name; }

int64_t winograd_products(const WinogradShape& shape) { return products_of(shape, facts_of(tile_of(shape)).side); }

int64_t winograd_forward_workspace(const WinogradShape& shape, int64_t rows, int threads) {
  return HWY_DYNAMIC_DISPATCH(winograd_forward_images)({.shape = shape, .rows = rows}, threads, nullptr);
}

int64_t winograd_backward_data_workspace(const WinogradShape& shape, int64_t rows, int threads) {
  return HWY_DYNAMIC_DISPATCH(winograd_backward_images)({.shape = shape, .rows = rows}, threads, nullptr);
}

void winograd_forward(const WinogradShape& shape, const float* x, const float* weights, const float* bias, int64_t rows,
                      float* workspace, float* y, uint8_t* taken) {
  HWY_DYNAMIC_DISPATCH(winograd_forward_images)
  ({.shape = shape, .rows = rows, .in = x, .weights = weights, .bias = bias, .out = y, .taken_out = taken},
   thread_count(), workspace);
}

void winograd_backward_data(const WinogradShape& shape, const float* dy, const uint8_t* taken, const float* weights,
                            int64_t rows, float* workspace, float* dx) {
  HWY_DYNAMIC_DISPATCH(winograd_backward_images)
  ({.shape = shape, .rows = rows, .in = dy, .weights = weights, .taken_in = taken, .out = dx}, thread_count(),
   workspace);
}

}  // namespace dptrain::kernels::cpu
#endif
