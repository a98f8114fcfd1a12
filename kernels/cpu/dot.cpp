#include "kernels/cpu/dot.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/parallel.h"

namespace dptrain::kernels::cpu {
namespace {

/// Row i of c where c and b(., k) are contiguous: adds a whole row for each k.
void add_multiples(const StridedProduct& p, const float* a, const float* b, float* c) {
  std::fill_n(c, p.n, 0.0F);
  for (int64_t k = 0; k < p.depth; ++k) {
    const float factor = a[k * p.a_k];
    const float* const from = b + k * p.b_k;
    for (int64_t j = 0; j < p.n; ++j) c[j] += factor * from[j];
  }
}

void sum_products(const StridedProduct& p, const float* a, const float* b, float* c) {
  for (int64_t j = 0; j < p.n; ++j) {
    float sum = 0.0F;
    for (int64_t k = 0; k < p.depth; ++k) sum += a[k * p.a_k] * b[j * p.b_j + k * p.b_k];
    c[j * p.c_j] = sum;
  }
}

/// Swaps a and b in the product.
StridedProduct swapped_operands(const StridedProduct& p) {
  return {.m = p.n,
          .n = p.m,
          .depth = p.depth,
          .a_i = p.b_j,
          .a_k = p.b_k,
          .b_j = p.a_i,
          .b_k = p.a_k,
          .c_i = p.c_j,
          .c_j = p.c_i};
}

bool is_row_major(const StridedProduct& p) { return p.b_j == 1 && p.c_j == 1; }

}  // namespace

void strided_product(const Launch&, DType, const StridedProduct& product, const float* a, const float* b, int64_t rows,
                     float* c) {
  StridedProduct p = product;
  if (!is_row_major(p) && is_row_major(swapped_operands(p))) {
    p = swapped_operands(p);
    std::swap(a, b);
  }
  parallel_ranges(rows * p.m, rows_per_piece(p.n * p.depth), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t row = line / p.m, i = line % p.m;
      const float* const from = a + row * p.m * p.depth + i * p.a_i;
      const float* const other = b + row * p.n * p.depth;
      float* const to = c + row * p.m * p.n + i * p.c_i;
      is_row_major(p) ? add_multiples(p, from, other, to) : sum_products(p, from, other, to);
    }
  });
}

void normalize_lines(const Launch&, DType, const StridedLines& l, const float* x, int64_t rows, float* y,
                     float* factors) {
  parallel_ranges(rows * l.lines, rows_per_piece(2 * l.length), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t first = line / l.lines * l.lines * l.length + line % l.lines * l.line_stride;
      float squares = 0.0F;
      for (int64_t k = 0; k < l.length; ++k) squares += x[first + k * l.stride] * x[first + k * l.stride];
      const float factor = std::min(1.0F / std::sqrt(squares), 1.0F / kShortestLine);
      factors[line] = factor;
      for (int64_t k = 0; k < l.length; ++k) y[first + k * l.stride] = x[first + k * l.stride] * factor;
    }
  });
}

void normalize_lines_backward(const Launch&, DType, const StridedLines& l, const float* y, const float* factors,
                              int64_t rows, float* dx) {
  parallel_ranges(rows * l.lines, rows_per_piece(2 * l.length), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t first = line / l.lines * l.lines * l.length + line % l.lines * l.line_stride;
      float along = 0.0F;
      for (int64_t k = 0; k < l.length; ++k) along += dx[first + k * l.stride] * y[first + k * l.stride];
      if (factors[line] >= 1.0F / kShortestLine) along = 0.0F;
      for (int64_t k = 0; k < l.length; ++k) {
        float& gradient = dx[first + k * l.stride];
        gradient = factors[line] * (gradient - along * y[first + k * l.stride]);
      }
    }
  });
}

}  // namespace dptrain::kernels::cpu
