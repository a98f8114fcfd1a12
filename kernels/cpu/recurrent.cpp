#include "kernels/cpu/recurrent.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/recurrent.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/recurrent-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

int64_t packed_kernel(int64_t units, int64_t gates) { return packed_weights(gates, units); }

/// Forward: one product per gate; backward: the gates are concatenated along K.
void pack_kernel(const float* kernel, int64_t units, int64_t gates, bool backward, float* to) {
  if (backward) return pack_weights(kernel, gates, units, units, 1, gates * units, to);
  for (int64_t gate = 0; gate < gates; ++gate)
    pack_weights(kernel + gate * units, 1, units, 0, gates * units, 1, to + gate * packed_weights(1, units));
}

/// Calls f(offset forward, offset backward, offset in y, whether the step is valid) for steps [begin, end) of all rows.
template <class F>
HWY_INLINE void for_steps(const DirectionShape& s, int64_t begin, int64_t end, const F& f) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t row = i / s.steps, t = i % s.steps;
    f(i * s.units, (row * s.steps + s.steps - 1 - t) * s.units, i * s.width(), s.mask == nullptr || s.mask[i] != 0);
  }
}

HWY_INLINE size_t bytes_of(int64_t floats) { return static_cast<size_t>(floats) * sizeof(float); }

void merge_piece(const DirectionShape& s, const float* forward, const float* backward, int64_t begin, int64_t end,
                 float* y) {
  const int64_t units = s.units;
  for_steps(s, begin, end, [&](int64_t at_f, int64_t at_b, int64_t at_y, bool valid) HWY_ATTR {
    const float *const f = forward + at_f, *const b = backward + at_b;
    float* const to = y + at_y;
    if (!valid) {
      std::memset(to, 0, bytes_of(s.width()));
      return;
    }
    switch (s.merge) {
      case DirectionMerge::kConcat:
        std::memcpy(to, f, bytes_of(units));
        std::memcpy(to + units, b, bytes_of(units));
        break;
      case DirectionMerge::kSum:
        map(
            units, to, [](Vec p, Vec q) HWY_ATTR { return hn::Add(p, q); }, f, b);
        break;
      case DirectionMerge::kMul:
        map(
            units, to, [](Vec p, Vec q) HWY_ATTR { return hn::Mul(p, q); }, f, b);
        break;
      case DirectionMerge::kAve:
        map(
            units, to, [](Vec p, Vec q) HWY_ATTR { return hn::Mul(hn::Add(p, q), splat(0.5F)); }, f, b);
        break;
    }
  });
}

void split_piece(const DirectionShape& s, const float* dy, const float* forward, const float* backward, int64_t begin,
                 int64_t end, float* d_forward, float* d_backward) {
  const int64_t units = s.units;
  for_steps(s, begin, end, [&](int64_t at_f, int64_t at_b, int64_t at_y, bool valid) HWY_ATTR {
    float *const df = d_forward + at_f, *const db = d_backward + at_b;
    const float* const from = dy + at_y;
    if (!valid) {
      std::memset(df, 0, bytes_of(units));
      std::memset(db, 0, bytes_of(units));
      return;
    }
    switch (s.merge) {
      case DirectionMerge::kConcat:
        std::memcpy(df, from, bytes_of(units));
        std::memcpy(db, from + units, bytes_of(units));
        break;
      case DirectionMerge::kSum:
        std::memcpy(df, from, bytes_of(units));
        std::memcpy(db, from, bytes_of(units));
        break;
      case DirectionMerge::kMul:
        map(
            units, df, [](Vec p, Vec q) HWY_ATTR { return hn::Mul(p, q); }, from, backward + at_b);
        map(
            units, db, [](Vec p, Vec q) HWY_ATTR { return hn::Mul(p, q); }, from, forward + at_f);
        break;
      case DirectionMerge::kAve:
        map(
            units, df, [](Vec p) HWY_ATTR { return hn::Mul(p, splat(0.5F)); }, from);
        std::memcpy(db, df, bytes_of(units));
        break;
    }
  });
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(packed_kernel);
HWY_EXPORT(pack_kernel);

void run_recurrent(std::span<const RecurrentWork> works, float* workspace) {
  int64_t pieces = 0, scratch = 0;
  for (const RecurrentWork& work : works) {
    pieces += work.pieces;
    scratch = std::max(scratch, odd_lines(work.scratch));
  }
  float* const slots = WorkspaceParts(workspace).take(0);
  parallel_slots(pieces, [&](int64_t piece, int slot) {
    const RecurrentWork* work = works.data();
    while (piece >= work->pieces) piece -= work++->pieces;
    work->run(work->pass, piece, slots + slot * scratch);
  });
}

int64_t recurrent_workspace(int64_t scratch, int threads) {
  WorkspaceParts all(nullptr);
  all.take(odd_lines(scratch) * threads);
  return all.taken();
}

int64_t packed_recurrent_kernel(int64_t units, int64_t gates) {
  return HWY_DYNAMIC_DISPATCH(packed_kernel)(units, gates);
}

void pack_recurrent_kernel(const float* kernel, int64_t units, int64_t gates, bool backward, float* to) {
  HWY_DYNAMIC_DISPATCH(pack_kernel)(kernel, units, gates, backward, to);
}

namespace {

/// Calls f(offset in the order of rows, in that of steps, contiguous channels) for all frames.
template <class F>
void for_frames(const FramesShape& s, const F& f) {
  const bool whole = s.stride == s.channels;
  const int64_t parts = whole ? 1 : s.pixels, width = whole ? s.pixels * s.channels : s.channels;
  parallel_ranges(s.rows * s.steps, rows_per_piece(s.pixels * s.channels), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t other = i % s.steps * s.rows + i / s.steps;
      for (int64_t part = 0; part < parts; ++part)
        f(i * s.pixels * s.channels + part * s.channels, (other * s.pixels + part) * s.stride + s.offset, width);
    }
  });
}

}  // namespace

void frames_by_step(const FramesShape& shape, const float* by_row, float* by_step) {
  for_frames(shape, [&](int64_t row, int64_t step, int64_t width) {
    std::memcpy(by_step + step, by_row + row, static_cast<size_t>(width) * sizeof(float));
  });
}

void frames_by_row(const FramesShape& shape, const float* by_step, float* by_row) {
  for_frames(shape, [&](int64_t row, int64_t step, int64_t width) {
    std::memcpy(by_row + row, by_step + step, static_cast<size_t>(width) * sizeof(float));
  });
}

HWY_EXPORT(merge_piece);
HWY_EXPORT(split_piece);

void merge_directions(const DirectionShape& shape, const float* forward, const float* backward, float* y) {
  parallel_ranges(shape.rows * shape.steps, rows_per_piece(shape.width()), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(merge_piece)(shape, forward, backward, begin, end, y);
  });
}

void split_directions(const DirectionShape& shape, const float* dy, const float* forward, const float* backward,
                      float* d_forward, float* d_backward) {
  parallel_ranges(shape.rows * shape.steps, rows_per_piece(shape.width()), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(split_piece)(shape, dy, forward, backward, begin, end, d_forward, d_backward);
  });
}

}  // namespace dptrain::kernels::cpu
#endif
