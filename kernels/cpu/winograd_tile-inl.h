// Winograd's transforms of one tile of an image: pixels to points and back. Points of a tile are stored in blocks of 16
// channels, the layout of gemm-inl.h, padded with zeros.

#if defined(DPTRAIN_KERNELS_CPU_WINOGRAD_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_WINOGRAD_TILE_INL_H
#undef DPTRAIN_KERNELS_CPU_WINOGRAD_TILE_INL_H
#else
#define DPTRAIN_KERNELS_CPU_WINOGRAD_TILE_INL_H
#endif

#include "kernels/cpu/gemm-inl.h"
#include "kernels/cpu/winograd.h"
#include "kernels/cpu/winograd_grid.h"
#include "kernels/cpu/winograd_math-inl.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Extents of an image of a batch in pixels.
struct Picture {
  int64_t h, w, channels;
};

/// Pointers to the kSide x kSide pixels of a window, or to `outside` beyond the image. Computed without branches, which
/// small images with many edge tiles would mispredict.
template <int kSide, class T = const float>
struct Window {
  T* pixel[kSide * kSide];

  HWY_INLINE Window(T* images, const Picture& p, int64_t image, int64_t y, int64_t x, T* outside) {
    const auto out = reinterpret_cast<intptr_t>(outside);
    const int64_t step = p.channels * static_cast<int64_t>(sizeof(T)), line = p.w * step;
    intptr_t row = reinterpret_cast<intptr_t>(images) + (image * p.h + y) * line + x * step - out;
    intptr_t column_inside[kSide];
    DPTRAIN_UNROLL for (int j = 0; j < kSide; ++j) column_inside[j] = inside(x + j, p.w);
    for (int i = 0; i < kSide; ++i, row += line) {
      const intptr_t row_inside = inside(y + i, p.h);
      DPTRAIN_UNROLL for (int j = 0; j < kSide; ++j) {
        pixel[i * kSide + j] = reinterpret_cast<T*>(out + ((row + j * step) & row_inside & column_inside[j]));
      }
    }
  }

 private:
  static HWY_INLINE intptr_t inside(int64_t at, int64_t size) {
    return -static_cast<intptr_t>(static_cast<uint64_t>(at) < static_cast<uint64_t>(size));
  }
};

/// Prefetches into the L2 cache the rows of pixels that the next line of tiles accesses first, possibly of the next
/// image: a part for each tile and 16 channels. Consecutive lines, which the hardware prefetcher extends further than
/// software prefetches can. kWritten: prefetches for writing.
template <int kTile, bool kWritten = false>
class RowsAhead {
 public:
  /// For the tile at output column x whose window of side x side pixels starts in row y.
  HWY_INLINE RowsAhead(const float* images, const Picture& p, int64_t image, int64_t y, int64_t x, int64_t side) {
    const int64_t row = p.w * p.channels, begin = (image * p.h + y + side) * row + x * kTile * lines(p.channels);
    if (kTile * row <= kNear) at_ = reinterpret_cast<intptr_t>(images) + begin * static_cast<int64_t>(sizeof(float));
  }
  /// False if the rows are too long to stay in the L2 cache.
  HWY_INLINE bool there() const { return at_ != 0; }
  /// Prefetches part `part` of kTile, for the channels from c on.
  HWY_INLINE void fetch(int64_t part, int64_t c) const {
    if (!there()) return;
    constexpr int64_t kLine = kChannelBlock * sizeof(float);
    intptr_t line = at_ + (c / kChannelBlock * kTile + part) * kTile * kLine;
    DPTRAIN_UNROLL for (int i = 0; i < kTile; ++i, line += kLine)
        __builtin_prefetch(reinterpret_cast<const void*>(line), kWritten, 2);
  }

 private:
  static constexpr int64_t kNear = (96 << 10) / sizeof(float);
  intptr_t at_ = 0;
};

/// Stores point p of channel c at `points[p * point_step + c / 16 * block_step + c % 16]`. kFar: they are outside the
/// L2 cache, in more streams than the hardware prefetches, so the lines of the tile after the next are prefetched.
template <bool kFar>
struct PointStore {
  float* points;
  int64_t point_step, block_step;
  HWY_INLINE float* at(int64_t c) const { return points + c / kChannelBlock * block_step + c % kChannelBlock; }
  /// Stores kCount points from `point` on and advances it.
  template <int kCount>
  HWY_INLINE void put(const Vec (&values)[kCount], float*& point) const {
    DPTRAIN_UNROLL for (int j = 0; j < kCount; ++j, point += point_step) {
      hn::StoreU(values[j], kFloats, point);
      if (kFar) __builtin_prefetch(point + 2 * kChannelBlock, 1, 2);
    }
  }
};

/// Calls f(c, io) for the vectors of `channels`, and pads the last block with zeros.
template <int kPoints, class To, class F>
HWY_INLINE void sweep_blocks(int64_t channels, const To& to, const F& f) {
  sweep(channels, f);
  for (int64_t c = (channels + kLanes - 1) / kLanes * kLanes; c % kChannelBlock != 0; c += kLanes)
    for (int p = 0; p < kPoints * kPoints; ++p) hn::StoreU(hn::Zero(kFloats), kFloats, to.at(c) + p * to.point_step);
}

/// B' d B of a window of the input.
template <class W, class To>
HWY_INLINE void transform_input(const Window<W::kPoints>& window, const RowsAhead<W::kTile>& ahead, int64_t channels,
                                const To& to) {
  constexpr int kPoints = W::kPoints;
  sweep_blocks<kPoints>(channels, to, [&](int64_t c, auto io) HWY_ATTR {
    Vec half[kPoints][kPoints];
    _Pragma("GCC unroll 1") for (int j = 0; j < kPoints; ++j) {
      Vec in[kPoints], out[kPoints];
      DPTRAIN_UNROLL for (int i = 0; i < kPoints; ++i) in[i] = io.load(window.pixel[i * kPoints + j] + c);
      if (j < W::kTile) ahead.fetch(j, c);
      W::bt(in, out);
      DPTRAIN_UNROLL for (int i = 0; i < kPoints; ++i) half[i][j] = out[i];
    }
    float* point = to.at(c);
    _Pragma("GCC unroll 1") for (int i = 0; i < kPoints; ++i) {
      Vec out[kPoints];
      W::bt(half[i], out);
      to.put(out, point);
    }
  });
}

/// A h A' for h [kPoints][kTile] = A dY.
template <class W, class To>
HWY_INLINE void finish_gradient(const Vec (&half)[W::kPoints][W::kTile], float* point, const To& to) {
  _Pragma("GCC unroll 1") for (int i = 0; i < W::kPoints; ++i) {
    Vec out[W::kPoints];
    W::a(half[i], out);
    to.put(out, point);
  }
}

/// A dY A' of a tile of the output gradient.
template <class W, class To>
HWY_INLINE void transform_gradient(const Window<W::kTile>& window, const RowsAhead<W::kTile>& ahead, int64_t channels,
                                   const To& to) {
  constexpr int kPoints = W::kPoints, kTile = W::kTile;
  sweep_blocks<kPoints>(channels, to, [&](int64_t c, auto io) HWY_ATTR {
    Vec half[kPoints][kTile];
    _Pragma("GCC unroll 1") for (int j = 0; j < kTile; ++j) {
      Vec in[kTile], out[kPoints];
      DPTRAIN_UNROLL for (int i = 0; i < kTile; ++i) in[i] = io.load(window.pixel[i * kTile + j] + c);
      ahead.fetch(j, c);
      W::a(in, out);
      DPTRAIN_UNROLL for (int i = 0; i < kPoints; ++i) half[i][j] = out[i];
    }
    finish_gradient<W>(half, to.at(c), to);
  });
}

/// A dY A' of a tile whose gradient is given after pooling.
template <class W, class To, int kPooled = W::kTile / 2>
HWY_INLINE void transform_pooled_gradient(const Window<kPooled>& window, const Window<kPooled, const uint8_t>& argmax,
                                          const RowsAhead<kPooled>& ahead, int64_t channels, const To& to) {
  constexpr int kPoints = W::kPoints, kTile = W::kTile;
  sweep_blocks<kPoints>(channels, to, [&](int64_t c, auto io) HWY_ATTR {
    Vec half[kPoints][kTile];
    DPTRAIN_UNROLL for (int j = 0; j < kPooled; ++j) {
      Vec pooled[kPooled];
      IntVec position[kPooled];
      DPTRAIN_UNROLL for (int i = 0; i < kPooled; ++i) {
        pooled[i] = io.load(window.pixel[i * kPooled + j] + c);
        position[i] = io.load(argmax.pixel[i * kPooled + j] + c);
      }
      ahead.fetch(j, c);
      DPTRAIN_UNROLL for (int right = 0; right < 2; ++right) {
        Vec in[kTile], out[kPoints];
        DPTRAIN_UNROLL for (int i = 0; i < kTile; ++i) {
          const auto here = hn::Eq(position[i / 2], hn::Set(kInts, i % 2 * 2 + right));
          in[i] = hn::IfThenElseZero(float_mask(here), pooled[i / 2]);
        }
        W::a(in, out);
        DPTRAIN_UNROLL for (int i = 0; i < kPoints; ++i) half[i][2 * j + right] = out[i];
      }
    }
    finish_gradient<W>(half, to.at(c), to);
  });
}

/// A dY A' of the tile at `place`; dy as described at WinogradShape::pool. `zeros`: the pixel outside the image.
template <class W, class To>
HWY_INLINE void transform_gradient_tile(const WinogradShape& s, const float* dy, const uint8_t* argmax,
                                        const TileGrid::Place& place, const float* zeros, const To& to) {
  const auto [image, y, x] = place;
  if constexpr (W::kTile % 2 == 0) {
    if (s.pool) {
      constexpr int kPooled = W::kTile / 2;
      const Picture pooled{s.out_h / 2, s.out_w / 2, s.out_channels};
      const auto* none = reinterpret_cast<const uint8_t*>(zeros);
      return transform_pooled_gradient<W>(Window<kPooled>(dy, pooled, image, y / 2, x / 2, zeros),
                                          Window<kPooled, const uint8_t>(argmax, pooled, image, y / 2, x / 2, none),
                                          RowsAhead<kPooled>(dy, pooled, image, y / 2, x / 2, kPooled), pooled.channels,
                                          to);
    }
  }
  const Picture out{s.out_h, s.out_w, s.out_channels};
  transform_gradient<W>(Window<W::kTile>(dy, out, image, y, x, zeros),
                        RowsAhead<W::kTile>(dy, out, image, y, x, W::kTile), out.channels, to);
}

/// A' m A; calls emit(row of the tile, its pixels) for each row from the top.
template <class W, class F>
HWY_INLINE void inverse_output(const float* products, int64_t point_step, const F& emit) {
  constexpr int kPoints = W::kPoints, kTile = W::kTile;
  Vec half[kTile][kPoints];
  _Pragma("GCC unroll 1") for (int j = 0; j < kPoints; ++j) {
    Vec in[kPoints], out[kTile];
    DPTRAIN_UNROLL for (int i = 0; i < kPoints; ++i) in[i] =
        hn::LoadU(kFloats, products + (i * kPoints + j) * point_step);
    W::at(in, out);
    DPTRAIN_UNROLL for (int i = 0; i < kTile; ++i) half[i][j] = out[i];
  }
  DPTRAIN_UNROLL for (int i = 0; i < kTile; ++i) {
    Vec out[kTile];
    W::at(half[i], out);
    emit(i, out);
  }
}

/// max(v, 0); keeps NaN.
HWY_INLINE Vec rectified(Vec v) { return hn::IfThenZeroElse(hn::Le(v, hn::Zero(kFloats)), v); }

struct Finish {
  const float* bias;  ///< null: none
  bool relu;
  template <class Io>
  HWY_INLINE Vec bias_of(int64_t c, Io io) const {
    return bias == nullptr ? hn::Zero(kFloats) : io.load(bias + c);
  }
};

/// Stores `count` of the `channels` of the output tile from channel c on, and prefetches the output of the next tile.
template <class W>
HWY_INLINE void store_output(const float* products, int64_t point_step, int64_t c, int64_t count, const Finish& finish,
                             const Window<W::kTile, float>& window, int64_t channels) {
  constexpr int kTile = W::kTile;
  sweep(count, [&](int64_t first, auto io) HWY_ATTR {
    const Vec bias = finish.bias_of(c + first, io);
    inverse_output<W>(products + first, point_step, [&](int i, const Vec* row) HWY_ATTR {
      DPTRAIN_UNROLL for (int j = 0; j < kTile; ++j) {
        const Vec sum = hn::Add(row[j], bias);
        float* const to = window.pixel[i * kTile + j] + c + first;
        io.store(finish.relu ? rectified(sum) : sum, to);
        __builtin_prefetch(to + kTile * channels, 1, 2);
      }
    });
  });
}

/// Stores the tile after 2x2 pooling, and the positions if `argmax` is not null.
template <class W, int kPooled = W::kTile / 2>
HWY_INLINE void store_pooled_output(const float* products, int64_t point_step, int64_t c, int64_t count,
                                    const Finish& finish, const Window<kPooled, float>& window,
                                    const Window<kPooled, uint8_t>* argmax) {
  sweep(count, [&](int64_t first, auto io) HWY_ATTR {
    const Vec bias = finish.bias_of(c + first, io);
    Vec upper[W::kTile];
    inverse_output<W>(products + first, point_step, [&](int i, const Vec* row) HWY_ATTR {
      if (i % 2 == 0) {
        DPTRAIN_UNROLL for (int j = 0; j < W::kTile; ++j) upper[j] = row[j];
        return;
      }
      DPTRAIN_UNROLL for (int j = 0; j < kPooled; ++j) {
        const auto right = hn::Gt(upper[2 * j + 1], upper[2 * j]), right_below = hn::Gt(row[2 * j + 1], row[2 * j]);
        const Vec above = hn::IfThenElse(right, upper[2 * j + 1], upper[2 * j]);
        const Vec beneath = hn::IfThenElse(right_below, row[2 * j + 1], row[2 * j]);
        const auto below = hn::Gt(beneath, above);
        const Vec sum = hn::Add(hn::IfThenElse(below, beneath, above), bias);
        const int64_t at = i / 2 * kPooled + j;
        io.store(finish.relu ? rectified(sum) : sum, window.pixel[at] + c + first);
        if (argmax == nullptr) continue;
        const auto set = [](int k) HWY_ATTR { return hn::Set(kInts, k); };
        const auto ints = [](auto mask) HWY_ATTR { return hn::RebindMask(kInts, mask); };
        const IntVec position = hn::IfThenElse(ints(below), hn::IfThenElse(ints(right_below), set(3), set(2)),
                                               hn::IfThenElse(ints(right), set(1), set(0)));
        const auto none = hn::Le(sum, hn::Zero(kFloats));
        io.store(finish.relu ? hn::IfThenElse(ints(none), set(kNoArgmax), position) : position,
                 argmax->pixel[at] + c + first);
      }
    });
  });
}

/// Adds B m B' to the data gradient. Tiles run from the top left: adds to the values that the tiles above (`up`) and on
/// the left have written. Prefetches the output of the next line of tiles, or of the next tile.
template <class W>
HWY_INLINE void store_input_gradient(const float* products, int64_t point_step, int64_t c, int64_t count, bool up,
                                     bool left, const Window<W::kPoints, float>& window,
                                     const RowsAhead<W::kTile, true>& ahead, int64_t channels) {
  constexpr int kPoints = W::kPoints, kOverlap = W::kKernel - 1;
  sweep(count, [&](int64_t first, auto io) HWY_ATTR {
    Vec half[kPoints][kPoints];
    _Pragma("GCC unroll 1") for (int j = 0; j < kPoints; ++j) {
      Vec in[kPoints], out[kPoints];
      DPTRAIN_UNROLL for (int i = 0; i < kPoints; ++i) in[i] =
          hn::LoadU(kFloats, products + first + (i * kPoints + j) * point_step);
      if (j < W::kTile) ahead.fetch(j, c + first);
      W::b(in, out);
      DPTRAIN_UNROLL for (int i = 0; i < kPoints; ++i) half[i][j] = out[i];
    }
    _Pragma("GCC unroll 1") for (int i = 0; i < kPoints; ++i) {
      Vec out[kPoints];
      W::b(half[i], out);
      float* const* const pixel = window.pixel + i * kPoints;
      const auto add = [&](int j) HWY_ATTR { out[j] = hn::Add(out[j], io.load(pixel[j] + c + first)); };
      if (up && i < kOverlap) {
        DPTRAIN_UNROLL for (int j = 0; j < kPoints; ++j) add(j);
      } else if (left) {
        DPTRAIN_UNROLL for (int j = 0; j < kOverlap; ++j) add(j);
      }
      DPTRAIN_UNROLL for (int j = 0; j < kPoints; ++j) io.store(out[j], pixel[j] + c + first);
      if (ahead.there()) continue;
      DPTRAIN_UNROLL for (int j = kOverlap; j < kPoints; ++j) {
        __builtin_prefetch(pixel[j] + c + first + W::kTile * channels, 1, 2);
      }
    }
  });
}

/// Calls f with the transforms of the tile chosen for the shape.
template <class F>
HWY_INLINE int64_t with_tile(const WinogradShape& shape, const F& f) {
  switch (tile_of(shape)) {
    case WinogradTile::k4x3: return f(F4x3{});
    case WinogradTile::k3x3: return f(F3x3{});
    case WinogradTile::k6x3: return f(F6x3{});
    case WinogradTile::k2x5: return f(F2x5{});
    case WinogradTile::k4x5: return f(F4x5{});
  }
  return 0;
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
