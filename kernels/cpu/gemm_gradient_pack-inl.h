// Packs the operands of a weight gradient for gemm_gradient_tile-inl.h, a chunk of positions at a time. The rows of the
// gradient, taps of a window times channels, are cut into groups of at most kSumRows.

#if defined(DPTRAIN_KERNELS_CPU_GEMM_GRADIENT_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DPTRAIN_KERNELS_CPU_GEMM_GRADIENT_PACK_INL_H
#undef DPTRAIN_KERNELS_CPU_GEMM_GRADIENT_PACK_INL_H
#else
#define DPTRAIN_KERNELS_CPU_GEMM_GRADIENT_PACK_INL_H
#endif

#include "kernels/cpu/gemm_gradient.h"
#include "kernels/cpu/gemm_gradient_tile-inl.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

/// Rows [first, first + there) of the gradient, in a panel of `rows`, an even number: the last row may be padding.
struct RowGroup {
  int64_t first, there, rows;
};

/// Grouping of the rows of the gradient: evenly, and by tap if a tap has enough channels.
class RowGroups {
 public:
  explicit RowGroups(const GemmPixels& px)
      : of_unit_(px.in_channels >= 2 * kSumRows ? px.in_channels : px.taps * px.in_channels),
        pairs_(pieces_of(of_unit_, 2)),
        groups_(pieces_of(pairs_, kSumRows / 2)),
        count_(px.taps * px.in_channels / of_unit_ * groups_) {}

  int64_t count() const { return count_; }
  RowGroup operator[](int64_t i) const {
    const int64_t unit = i / groups_, of_unit = i % groups_;
    const int64_t begin = pairs_ * of_unit / groups_ * 2, end = pairs_ * (of_unit + 1) / groups_ * 2;
    return {unit * of_unit_ + begin, std::min(end, of_unit_) - begin, end - begin};
  }

 private:
  int64_t of_unit_, pairs_, groups_, count_;
};

/// Floats of a panel copied at a time; the last copy may write up to this many floats past the panel.
inline constexpr int64_t kMoved = (kSumRows + kLanes - 1) / kLanes * kLanes;
/// Groups whose panels are packed at a time, so that whole cache lines of x are read.
inline constexpr int64_t kGroupsAtOnce = 112 / kSumRows;

/// Channels [channel, channel + count) of a tap.
struct TapChannels {
  int64_t tap, channel, count;
};

/// Calls f(part, its first row) for the parts of rows [begin, end) of the gradient that belong to one tap each.
template <class F>
HWY_INLINE void each_tap_of_rows(const GemmPixels& px, int64_t begin, int64_t end, const F& f) {
  while (begin < end) {
    const TapChannels part{begin / px.in_channels, begin % px.in_channels,
                           std::min(end - begin, px.in_channels - begin % px.in_channels)};
    f(part, begin);
    begin += part.count;
  }
}

/// The pixel that a tap reads in each window of [first, first + count); `outside` if it is outside the image.
HWY_INLINE void find_pixels(const GemmGradient& g, int64_t tap, int64_t first, int64_t count, const float* outside,
                            const float** to) {
  const GemmPixels& px = g.pixels;
  GemmPixels::Place place = px.place(first);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = px.in_offset(place, tap);
    to[i] = at < 0 ? outside : g.x + at;
    if (++place.x < px.w) continue;
    place.x = 0;
    if (++place.y < px.h) continue;
    place.y = 0;
    ++place.image;
  }
}

/// The panels of consecutive groups.
class Panels {
 public:
  static constexpr int64_t floats(int64_t positions) { return kGroupsAtOnce * step(positions); }
  static constexpr int64_t step(int64_t positions) { return lines(kSumRows * positions + kMoved); }

  /// Packs groups [begin, end) for windows [first, first + count).
  static void pack(const GemmGradient& g, const RowGroups& groups, int64_t begin, int64_t end, int64_t first,
                   int64_t count, float* to) {
    const RowGroup last = groups[end - 1];
    each_tap_of_rows(g.pixels, groups[begin].first, last.first + last.there,
                     [&](TapChannels tap, int64_t row) HWY_ATTR {
                       Part parts[kGroupsAtOnce];
                       int64_t n = 0;
                       for (int64_t i = begin; i < end; ++i) {
                         const RowGroup group = groups[i];
                         const int64_t from = std::max(row, group.first),
                                       until = std::min(row + tap.count, group.first + group.there);
                         if (from < until)
                           parts[n++] = {to + (i - begin) * step(count) + from - group.first, group.rows, from - row,
                                         until - from, until - from == group.there};
                       }
                       const float* pixels[kGradientChunk];
                       find_pixels(g, tap.tap, first, count, nullptr, pixels);
                       pack(g, tap, pixels, count, parts, n);
                     });
  }

 private:
  /// `count` floats of a panel's rows, from offset `at` of a pixel; `whole`: these are the whole row.
  struct Part {
    float* to;
    int64_t step, at, count;
    bool whole;
  };

  static void pack(const GemmGradient& g, TapChannels tap, const float* const* pixels, int64_t count, Part* parts,
                   int64_t n) {
    static constexpr float kZeros[kGroupsAtOnce * kSumRows + kMoved] = {};
    const float* const x_end = g.x + g.images() * g.pixels.in_h * g.pixels.in_w * g.pixels.in_channels;
    for (int64_t k = 0; k < count; ++k) {
      const float* const from = pixels[k] == nullptr ? kZeros : pixels[k] + tap.channel;
      const bool moves = pixels[k] == nullptr || x_end - from >= tap.count + kMoved;
      for (int64_t i = 0; i < n; ++i) {
        Part& part = parts[i];
        if (moves && part.whole) {
          DPTRAIN_UNROLL for (int64_t v = 0; v < kMoved; v += kLanes) {
            hn::StoreU(hn::LoadU(kFloats, from + part.at + v), kFloats, part.to + v);
          }
        } else {
          std::memcpy(part.to, from + part.at, static_cast<size_t>(part.count) * sizeof(float));
        }
        part.to += part.step;
      }
    }
  }
};

/// Packs columns [column, column + columns) of dy at `count` positions in blocks of kSumColumns, padded with zeros.
HWY_INLINE void pack_gradients(const float* dy, int64_t dy_step, int64_t columns, int64_t count, float* to) {
  const int64_t block = count * kSumColumns;
  for (int64_t k = 0; k < count; ++k, dy += dy_step, to += kSumColumns) {
    float* at = to;
    int64_t c = 0;
    for (; c + kSumColumns <= columns; c += kSumColumns, at += block) {
      DPTRAIN_UNROLL for (int64_t v = 0; v < kSumColumns; v += kLanes) {
        hn::StoreU(hn::LoadU(kFloats, dy + c + v), kFloats, at + v);
      }
    }
    if (c == columns) continue;
    DPTRAIN_UNROLL for (int64_t v = 0; v < kSumColumns; v += kLanes) { hn::StoreU(hn::Zero(kFloats), kFloats, at + v); }
    std::memcpy(at, dy + c, static_cast<size_t>(columns - c) * sizeof(float));
  }
}

/// Cache lines that the next step packs; the tiles of the current step share their prefetches evenly.
class UpcomingRows {
 public:
  explicit UpcomingRows(const GemmGradient& g, int64_t positions) : g_(g), positions_(positions) {}

  /// Adds rows [begin, end) of the gradient for windows [first, first + count).
  void add_pixels(int64_t begin, int64_t end, int64_t first, int64_t count) {
    each_tap_of_rows(g_.pixels, begin, end, [&](TapChannels tap, int64_t) HWY_ATTR {
      if (parts_ < kMax) add({tap, first, count, pieces_of(tap.channel % kLine + tap.count, kLine), false});
    });
  }
  /// Adds columns [column, column + columns) of dy.
  void add_gradients(int64_t column, int64_t columns, int64_t first, int64_t count) {
    add({{0, column, columns}, first, count, pieces_of(column % kLine + columns, kLine), true});
  }
  void share_among(int64_t tiles) { tiles_ = tiles; }

  /// The prefetches of the next tile.
  AheadRows take() {
    if (lines_ == 0) return {};
    const int64_t line = tile_ * lines_ / tiles_, first = pieces_of(line * tiles_, lines_);
    const int64_t sharing = std::max<int64_t>(1, pieces_of((line + 1) * tiles_, lines_) - first), mine = tile_ - first;
    ++tile_;
    int64_t at = line, part = 0;
    for (; at >= parts_of_[part].lines; ++part) at -= parts_of_[part].lines;
    const Part& p = parts_of_[part];
    if (part != found_) find(p);
    found_ = part;
    const int64_t step = pieces_of(kStepPositions, sharing), rows = pieces_of(positions_, kStepPositions) * step;
    return {rows_ + std::min(mine * rows, std::max<int64_t>(0, p.count - rows)),
            p.channels.channel + std::min(at * kLine, p.channels.count - 1), step};
  }

 private:
  static constexpr int64_t kLine = 16, kMax = 16;  // floats; maximum number of parts

  struct Part {
    TapChannels channels;
    int64_t first, count, lines;
    bool of_dy;
  };

  void add(const Part& part) {
    if (part.count == 0) return;
    parts_of_[parts_++] = part;
    lines_ += part.lines;
  }

  void find(const Part& p) {
    if (p.of_dy)
      for (int64_t i = 0; i < p.count; ++i) rows_[i] = g_.dy + (p.first + i) * g_.pixels.out_channels;
    else
      find_pixels(g_, p.channels.tap, p.first, p.count, g_.dy, rows_);
    std::fill(rows_ + p.count, rows_ + kGradientChunk + kStepPositions, rows_[p.count - 1]);
  }

  const GemmGradient& g_;
  int64_t positions_;  // positions of the tiles that prefetch
  Part parts_of_[kMax + 1];
  int64_t parts_ = 0, lines_ = 0, tiles_ = 1, tile_ = 0, found_ = -1;
  const float* rows_[kGradientChunk + kStepPositions];
};

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
