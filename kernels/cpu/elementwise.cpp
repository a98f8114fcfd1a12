#include "kernels/cpu/elementwise.h"

#include <cstring>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/targets.h"

#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise.cpp"
#include <hwy/foreach_target.h>

#include "kernels/cpu/column_sums-inl.h"
#include "kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dptrain::kernels::cpu::HWY_NAMESPACE {

void fill_piece(float value, float* y, int64_t n) {
  map(n, y, [=]() HWY_ATTR { return splat(value); });
}

void add_piece(const float* a, const float* b, float* y, int64_t n) {
  map(
      n, y, [](Vec u, Vec v) HWY_ATTR { return hn::Add(u, v); }, a, b);
}

void add_scaled_piece(const float* a, const float* b, float factor, float* y, int64_t n) {
  const Vec f = splat(factor);
  map(
      n, y, [=](Vec u, Vec v) HWY_ATTR { return hn::MulAdd(v, f, u); }, a, b);
}

void add_relu_piece(const float* a, const float* b, float* y, int64_t n) {
  map(
      n, y,
      [](Vec u, Vec v) HWY_ATTR {
        const Vec sum = hn::Add(u, v);
        return hn::IfThenZeroElse(hn::Le(sum, hn::Zero(kFloats)), sum);
      },
      a, b);
}

void add_relu_backward_piece(const float* y, const float* dy, float* da, float* db, int64_t n) {
  sweep(n, [&](int64_t i, auto io) HWY_ATTR {
    const Vec gradient = where_positive(io.load(y + i), io.load(dy + i));
    io.store(gradient, da + i);
    io.store(gradient, db + i);
  });
}

void multiply_piece(const float* a, const float* b, float* y, int64_t n) {
  map(
      n, y, [](Vec u, Vec v) HWY_ATTR { return hn::Mul(u, v); }, a, b);
}

void subtract_piece(const float* a, const float* b, float* y, int64_t n) {
  map(
      n, y, [](Vec u, Vec v) HWY_ATTR { return hn::Sub(u, v); }, a, b);
}

// A comparison with NaN is false: the result is u if u is NaN, else v if v is NaN.

void maximum_piece(const float* a, const float* b, float* y, int64_t n) {
  map(
      n, y, [](Vec u, Vec v) HWY_ATTR { return hn::IfThenElse(hn::Or(hn::Ge(u, v), hn::IsNaN(u)), u, v); }, a, b);
}

void minimum_piece(const float* a, const float* b, float* y, int64_t n) {
  map(
      n, y, [](Vec u, Vec v) HWY_ATTR { return hn::IfThenElse(hn::Or(hn::Le(u, v), hn::IsNaN(u)), u, v); }, a, b);
}

void move_where_equal_piece(const float* a, const float* b, float* left, float* taken, int64_t n) {
  sweep(n, [&](int64_t i, auto io) HWY_ATTR {
    const Vec value = io.load(left + i);
    const auto equal = hn::Eq(io.load(a + i), io.load(b + i));
    if (taken != nullptr) io.store(hn::IfThenElseZero(equal, value), taken + i);
    io.store(hn::IfThenZeroElse(equal, value), left + i);
  });
}

void scale_offset_piece(const float* x, float scale, float offset, float* y, int64_t n) {
  const Vec factor = splat(scale), shift = splat(offset);
  map(
      n, y, [=](Vec v) HWY_ATTR { return hn::MulAdd(v, factor, shift); }, x);
}

void u8_to_f32_piece(const uint8_t* x, float scale, float offset, float* y, int64_t n) {
  const Vec factor = splat(scale), shift = splat(offset);
  map(
      n, y, [=](IntVec v) HWY_ATTR { return hn::MulAdd(hn::ConvertTo(kFloats, v), factor, shift); }, x);
}

void bias_add_piece(const float* x, const float* bias, int64_t rows, int64_t channels, float* y) {
  for (int64_t row = 0; row < rows; ++row, x += channels, y += channels) add_piece(x, bias, y, channels);
}

void column_sums_piece(const float* x, int64_t rows, int64_t columns, float* sums) {
  column_sums(x, rows, columns, sums);
}

}  // namespace dptrain::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dptrain::kernels::cpu {

HWY_EXPORT(fill_piece);
HWY_EXPORT(add_piece);
HWY_EXPORT(add_scaled_piece);
HWY_EXPORT(add_relu_piece);
HWY_EXPORT(add_relu_backward_piece);
HWY_EXPORT(multiply_piece);
HWY_EXPORT(subtract_piece);
HWY_EXPORT(maximum_piece);
HWY_EXPORT(minimum_piece);
HWY_EXPORT(move_where_equal_piece);
HWY_EXPORT(scale_offset_piece);
HWY_EXPORT(u8_to_f32_piece);
HWY_EXPORT(bias_add_piece);
HWY_EXPORT(column_sums_piece);

void fill(float value, float* y, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(fill_piece)(value, y + begin, end - begin);
  });
}

void copy(const Launch&, DType, const float* x, float* y, int64_t n) {
  if (x == y) return;
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    std::memcpy(y + begin, x + begin, static_cast<size_t>(end - begin) * sizeof(float));
  });
}

void add(const float* a, const float* b, float* y, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_piece)(a + begin, b + begin, y + begin, end - begin);
  });
}

void add_scaled(const float* a, const float* b, float factor, float* y, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_scaled_piece)(a + begin, b + begin, factor, y + begin, end - begin);
  });
}

void add_relu(const float* a, const float* b, float* y, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_relu_piece)(a + begin, b + begin, y + begin, end - begin);
  });
}

void add_relu_backward(const float* y, const float* dy, float* da, float* db, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_relu_backward_piece)(y + begin, dy + begin, da + begin, db + begin, end - begin);
  });
}

void accumulate(const float* x, float* y, int64_t n) { add(y, x, y, n); }

void multiply(const float* a, const float* b, float* y, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(multiply_piece)(a + begin, b + begin, y + begin, end - begin);
  });
}

void subtract(const float* a, const float* b, float* y, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(subtract_piece)(a + begin, b + begin, y + begin, end - begin);
  });
}

void maximum(const float* a, const float* b, float* y, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(maximum_piece)(a + begin, b + begin, y + begin, end - begin);
  });
}

void minimum(const float* a, const float* b, float* y, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(minimum_piece)(a + begin, b + begin, y + begin, end - begin);
  });
}

void move_where_equal(const float* a, const float* b, float* left, float* taken, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(move_where_equal_piece)
    (a + begin, b + begin, left + begin, taken == nullptr ? nullptr : taken + begin, end - begin);
  });
}

void scale_offset(const float* x, float scale, float offset, float* y, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(scale_offset_piece)(x + begin, scale, offset, y + begin, end - begin);
  });
}

void u8_to_f32(const uint8_t* x, float scale, float offset, float* y, int64_t n) {
  parallel_ranges(n, kPieceElements, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(u8_to_f32_piece)(x + begin, scale, offset, y + begin, end - begin);
  });
}

void bias_add(const float* x, const float* bias, int64_t rows, int64_t channels, float* y) {
  parallel_ranges(rows, rows_per_piece(channels), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(bias_add_piece)(x + begin * channels, bias, end - begin, channels, y + begin * channels);
  });
}

int64_t bias_gradient_workspace(int64_t rows, int64_t channels) {
  return pieces_of(rows, rows_per_partial(rows, channels)) * channels;
}

void bias_gradient(const float* dy, int64_t rows, int64_t channels, float* workspace, float* gradient) {
  const int64_t size = rows_per_partial(rows, channels);
  parallel_ranges(rows, size, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(column_sums_piece)
    (dy + begin * channels, end - begin, channels, workspace + begin / size * channels);
  });
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0.0;
    for (int64_t piece = 0; piece < pieces_of(rows, size); ++piece) sum += workspace[piece * channels + c];
    gradient[c] = static_cast<float>(sum);
  }
}

}  // namespace dptrain::kernels::cpu
#endif
