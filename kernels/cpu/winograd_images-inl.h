// Winograd's passes from image to image: forward and data gradient.

#if defined(DPTRAIN_KERNELS_CPU_WINOGRAD_IMAGES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_WINOGRAD_IMAGES_INL_H
#undef DPTRAIN_KERNELS_CPU_WINOGRAD_IMAGES_INL_H
#else
#define DPTRAIN_KERNELS_CPU_WINOGRAD_IMAGES_INL_H
#endif

#include <algorithm>
#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/winograd_grid.h"
#include "kernels/cpu/winograd_images.h"
#include "kernels/cpu/winograd_tile-inl.h"
#include "kernels/cpu/winograd_weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Forward and backward data: transforms a block of tiles, multiplies each point with the transformed filters, and
/// inverts, in blocks that stay in the L2 cache. Filters too large for it use larger blocks of tiles. With few tiles in
/// all, threads share the points of all tiles and divide the columns; each transforms its filters slice by slice along
/// the depth, so that a slice stays in the L2 cache.
template <class W, bool kBackward>
class Images {
 public:
  /// `given`: layout of points that another pass computes for finish().
  Images(const WinogradImages& images, int threads, float* workspace, const SharedPoints& given = {})
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
    slice_ = divides_columns_ && slice >= kMinSlice ? even_block(slice, depth_, 1) : depth_;
    filter_point_ = odd_lines(slice_ * kChannelBlock * kTileColumns);
    const int64_t tile_bytes = kProducts * kFloat * (depth_ * kChannelBlock + (big_ ? 0 : kTileColumns));
    const int64_t most = big_ ? kManyTiles : kBlockBytes / tile_bytes;
    tiles_ = given.tiles > 0    ? given.tiles
             : divides_columns_ ? pieces_of(grid_.total, kTileRows) * kTileRows
                                : even_block(most, pieces_of(grid_.total, threads), kTileRows);
    columns_at_once_ = big_ && !divides_columns_ ? std::min<int64_t>(columns_, kMaxColumnsAtOnce) : 1;
    steps_ = {depth_ * kPanelBlock, kPanelBlock};
    input_point_ = odd_lines(tiles_ / kTileRows * steps_.group);
    if (given.tiles > 0) {
      steps_ = {kPanelBlock, given.block};
      input_point_ = given.point;
    }
    product_point_ = odd_lines(tiles_ * kTileColumns);

    WorkspaceParts parts(workspace);
    zeros_ = parts.take(std::max(s_.in_channels, s_.out_channels));
    const int64_t filter_floats = kProducts * filter_point_ * (divides_columns_ ? 1 : columns_);
    const int64_t points_floats = given.tiles > 0 ? 0 : kProducts * input_point_,
                  product_floats = kProducts * product_point_ * columns_at_once_;
    u_ = parts.take(filter_floats * (divides_columns_ ? threads : 1));
    u_slot_ = divides_columns_ ? lines(filter_floats) : 0;
    points_ = parts.take(points_floats * (divides_columns_ ? 1 : threads));
    points_slot_ = divides_columns_ ? 0 : points_floats;
    products_slot_ = product_floats + lines(std::max(filters_.columns(), kTileColumns));
    products_ = parts.take(products_slot_ * threads);
    workspace_ = parts.taken();
  }

  int64_t workspace() const { return workspace_; }

  void run() const {
    if (grid_.total == 0) return;
    std::memset(zeros_, 0, static_cast<size_t>(std::max(s_.in_channels, s_.out_channels)) * sizeof(float));
    if (divides_columns_) return run_columns();
    transform_all_filters();
    // One thread writes the gradient of an image: neighbouring tiles add to each other's borders.
    const int64_t images = std::max<int64_t>(1, tiles_ / grid_.per_image);
    const int64_t piece = kBackward ? images * grid_.per_image : tiles_;
    parallel_slots(pieces_of(grid_.total, piece), [&](int64_t p, int slot) HWY_ATTR {
      const int64_t end = std::min(grid_.total, (p + 1) * piece);
      const int64_t each = even_block(tiles_, end - p * piece, kTileRows);
      for (int64_t t = p * piece; t < end; t += each) run_block(t, std::min(each, end - t), slot);
    });
  }

  /// Call it before finish().
  void transform_all_filters() const {
    parallel_for(columns_ * depth_, [&](int64_t piece) HWY_ATTR {
      const int64_t column = piece / depth_, block = piece % depth_;
      transform_filter_block(column, block, block, u_ + column * kProducts * filter_point_);
    });
  }

  /// Products and inverse of `count` tiles from `first` on, whose points are complete.
  void finish(int64_t first, int64_t count, const float* points, int slot) const {
    float* const products = products_ + slot * products_slot_;
    for (int64_t column = 0; column < columns_; column += columns_at_once_) {
      const int64_t column_count = std::min(columns_at_once_, columns_ - column);
      multiply_columns(column, column_count, count, points, depth_, false, u_ + column * kProducts * filter_point_,
                       products);
      inverse_columns(column, column_count, first, count, products);
    }
  }

  const TileGrid& grid() const { return grid_; }

 private:
  static constexpr int64_t kProducts = W::kPoints * W::kPoints, kFloat = sizeof(float);

  /// Pixels of the output that tiles must cover; backward also writes those without a gradient.
  int64_t seen(int64_t pixels) const { return s_.pool && !kBackward ? pixels / 2 * 2 : pixels; }

  /// Transforms block `block` of 16 rows and one block of columns into block `to` of a slice.
  void transform_filter_block(int64_t column, int64_t block, int64_t to, float* u) const {
    const int64_t vectors = tile_vectors(filters_.columns(), column * kTileColumns);
    transform_filters<W>(filters_, block * kChannelBlock, column * kTileColumns, vectors, filter_point_,
                         u + to * kChannelBlock * vectors * kLanes);
  }

  void run_block(int64_t first, int64_t count, int slot) const {
    float* const points = points_ + slot * points_slot_;
    for (int64_t t = 0; t < count; ++t) transform(first + t, t, points);
    finish(first, count, points, slot);
  }

  void run_columns() const {
    parallel_for(grid_.total, [&](int64_t t) HWY_ATTR { transform(t, t, points_); });
    parallel_slots(columns_, [&](int64_t column, int slot) HWY_ATTR {
      float* const u = u_ + slot * u_slot_;
      float* const products = products_ + slot * products_slot_;
      for (int64_t block = 0; block < depth_; block += slice_) {
        const int64_t blocks = std::min(slice_, depth_ - block);
        for (int64_t b = 0; b < blocks; ++b) transform_filter_block(column, block + b, b, u);
        multiply_columns(column, 1, grid_.total, points_ + block * steps_.block, blocks, block > 0, u, products);
      }
      inverse_columns(column, 1, 0, grid_.total, products);
    });
  }

  /// Products of `count` tiles for `column_count` blocks of columns, over `blocks` blocks of 16 channels.
  void multiply_columns(int64_t column, int64_t column_count, int64_t count, const float* points, int64_t blocks,
                        bool add, const float* u, float* products) const {
    for (int64_t p = 0; p < kProducts; ++p)
      for (int64_t c = 0; c < column_count; ++c) {
        const float* const filters = u + (c * kProducts + p) * filter_point_;
        const float* const from = points + p * input_point_;
        const bool turns = c + 1 == column_count, ends = turns && p + 1 == kProducts;
        const float* const next_u = ends ? filters : u + (turns ? p + 1 : (c + 1) * kProducts + p) * filter_point_;
        const NextOperands next{turns && !ends ? from + input_point_ : from, slice_ < depth_ ? nullptr : next_u};
        float* const to = products + (c * kProducts + p) * product_point_;
        if (big_)
          multiply<true>(column + c, count, from, blocks, filters, next, add, to);
        else
          multiply<false>(column + c, count, from, blocks, filters, next, add, to);
      }
  }

  void inverse_columns(int64_t column, int64_t column_count, int64_t first, int64_t count, float* products) const {
    float* const outside = products + products_slot_ - lines(std::max(filters_.columns(), kTileColumns));
    for (int64_t c = 0; c < column_count; ++c)
      for (int64_t t = 0; t < count; ++t)
        inverse(first + t, (column + c) * kTileColumns, products + c * kProducts * product_point_ + t * kTileColumns,
                outside);
  }

  template <bool kFetch>
  HWY_INLINE void multiply(int64_t column, int64_t count, const float* points, int64_t blocks, const float* u,
                           const NextOperands& next, bool add, float* products) const {
    with_vectors(tile_vectors(filters_.columns(), column * kTileColumns), [&](auto vectors) HWY_ATTR {
      multiply_panels<decltype(vectors)::value, kFetch>(count, blocks, points, steps_, u, next, add, products);
    });
  }

  /// Writes the points of tile t to row `row` of a block.
  HWY_INLINE void transform(int64_t t, int64_t row, float* points) const {
    if (big_)
      transform_to<true>(t, row, points);
    else
      transform_to<false>(t, row, points);
  }

  template <bool kFar>
  HWY_INLINE void transform_to(int64_t t, int64_t row, float* points) const {
    const TileGrid::Place place = grid_.place(t);
    const PointStore<kFar> to{points + row / kTileRows * steps_.group + row % kTileRows * kChannelBlock, input_point_,
                              steps_.block};
    if constexpr (kBackward) {
      transform_gradient_tile<W>(s_, i_.in, i_.argmax_in, place, zeros_, to);
    } else {
      const Picture in{s_.in_h, s_.in_w, s_.in_channels};
      const int64_t top = place.y - s_.pad_top, left = place.x - s_.pad_left;
      transform_input<W>(Window<W::kPoints>(i_.in, in, place.image, top, left, zeros_),
                         RowsAhead<W::kTile>(i_.in, in, place.image, top, place.x, W::kPoints), in.channels, to);
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
          const Window<W::kTile / 2, uint8_t> argmax(i_.argmax_out, pooled, image, y / 2, x / 2,
                                                     reinterpret_cast<uint8_t*>(outside));
          return store_pooled_output<W>(products, product_point_, column, count, finish,
                                        Window<W::kTile / 2, float>(i_.out, pooled, image, y / 2, x / 2, outside),
                                        i_.argmax_out == nullptr ? nullptr : &argmax);
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
  bool big_, divides_columns_;  // filters exceed the L2 cache; they do, and there are few tiles
  int64_t slice_;               // blocks of 16 rows whose filters are transformed and used at once
  int64_t tiles_;               // tiles per block of points and of products
  int64_t columns_at_once_;     // blocks of columns that share a pass over the points
  PanelSteps steps_;            // strides of the points
  int64_t input_point_, filter_point_, product_point_;
  float *zeros_, *u_, *points_, *products_;
  int64_t u_slot_, points_slot_, products_slot_;  // floats between slots
  int64_t workspace_;
};

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
