#include "kernels/cuda/dot.h"

#include "kernels/cuda/lanes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// One thread per element of c, adjacent along j.
template <class T>
__global__ void strided_product_kernel(const StridedProduct p, const T* a, const T* b, std::int64_t elements, T* c) {
  for (std::int64_t e = thread_number(); e < elements; e += thread_count()) {
    const Split column = split(e, p.n), line = split(column.quotient, p.m);
    const std::int64_t row = line.quotient, i = line.remainder, j = column.remainder;
    const T* const from = a + row * p.m * p.depth + i * p.a_i;
    const T* const other = b + row * p.n * p.depth + j * p.b_j;
    float sum = 0.0F;
    for (std::int64_t k = 0; k < p.depth; ++k) sum = fmaf(to_float(from[k * p.a_k]), to_float(other[k * p.b_k]), sum);
    c[row * p.m * p.n + i * p.c_i + j * p.c_j] = from_float<T>(sum);
  }
}

__device__ inline std::int64_t start_of(const StridedLines& l, std::int64_t line) {
  const Split place = split(line, l.lines);
  return place.quotient * l.lines * l.length + place.remainder * l.line_stride;
}

template <class T>
__global__ void normalize_lines_kernel(const StridedLines l, const T* x, std::int64_t lines, T* y, float* factors) {
  for (std::int64_t line = thread_number(); line < lines; line += thread_count()) {
    const std::int64_t first = start_of(l, line);
    float squares = 0.0F;
    for (std::int64_t k = 0; k < l.length; ++k) {
      const float value = to_float(x[first + k * l.stride]);
      squares = fmaf(value, value, squares);
    }
    const float inverse = 1.0F / sqrtf(squares), most = 1.0F / kShortestLine;
    const float factor = inverse < most ? inverse : most;
    factors[line] = factor;
    for (std::int64_t k = 0; k < l.length; ++k)
      y[first + k * l.stride] = from_float<T>(to_float(x[first + k * l.stride]) * factor);
  }
}

template <class T>
__global__ void normalize_lines_backward_kernel(const StridedLines l, const T* y, const float* factors,
                                                std::int64_t lines, T* dx) {
  for (std::int64_t line = thread_number(); line < lines; line += thread_count()) {
    const std::int64_t first = start_of(l, line);
    float along = 0.0F;
    for (std::int64_t k = 0; k < l.length; ++k)
      along = fmaf(to_float(dx[first + k * l.stride]), to_float(y[first + k * l.stride]), along);
    const float factor = factors[line];
    if (factor >= 1.0F / kShortestLine) along = 0.0F;
    for (std::int64_t k = 0; k < l.length; ++k) {
      T& gradient = dx[first + k * l.stride];
      gradient = from_float<T>(factor * (to_float(gradient) - along * to_float(y[first + k * l.stride])));
    }
  }
}

}  // namespace

void strided_product(const Launch& at, DType type, const StridedProduct& product, const void* a, const void* b,
                     std::int64_t rows, void* c) {
  const std::int64_t elements = rows * product.m * product.n;
  if (elements <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto kernel = strided_product_kernel<T>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, elements), kBlock, product, static_cast<const T*>(a),
                        static_cast<const T*>(b), elements, static_cast<T*>(c));
  });
}

void normalize_lines(const Launch& at, DType type, const StridedLines& lines, const void* x, std::int64_t rows, void* y,
                     float* factors) {
  const std::int64_t all = rows * lines.lines;
  if (all <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto kernel = normalize_lines_kernel<T>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, all), kBlock, lines, static_cast<const T*>(x), all, static_cast<T*>(y),
                        factors);
  });
}

void normalize_lines_backward(const Launch& at, DType type, const StridedLines& lines, const void* y,
                              const float* factors, std::int64_t rows, void* dx) {
  const std::int64_t all = rows * lines.lines;
  if (all <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto kernel = normalize_lines_backward_kernel<T>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, all), kBlock, lines, static_cast<const T*>(y), factors, all,
                        static_cast<T*>(dx));
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
