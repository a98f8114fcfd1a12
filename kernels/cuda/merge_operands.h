#pragma once

// Common parts of merge passes: operands read at the same coordinates of the output, with one result per coordinate or
// one sum over an input's broadcast axes. Only for .cu files. A pass is a struct that returns V adjacent results:
//
//   template <int V, class T> __device__ Lanes<V> at(const Operands& o, const Coordinates& c) const

#include "kernels/cuda/lanes.h"
#include "kernels/cuda/merge.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// Tensors read at the same coordinates of the output, for `rows` samples.
struct Operands {
  static constexpr int kMax = Merge::kMaxInputs + 2;  // the inputs, the output, its gradient

  int count = 0, axes = 0;
  std::int64_t rows = 0, output_elements = 0;
  std::int64_t extent[Merge::kMaxAxes] = {};
  const void* data[kMax] = {};
  std::int64_t elements[kMax] = {};
  std::int64_t stride[kMax][Merge::kMaxAxes] = {};

  Operands(const Merge& merge, std::int64_t samples)
      : axes(merge.axes), rows(samples), output_elements(merge.output_elements) {
    std::copy_n(merge.extent, kMaxAxes, extent);
  }
  Operands(const Merge& merge, std::int64_t samples, const void* const* inputs) : Operands(merge, samples) {
    for (int i = 0; i < merge.inputs; ++i) append(merge, i, inputs);
  }
  void append(const Merge& merge, int i, const void* const* inputs) {
    data[count] = inputs[i];
    elements[count] = merge.elements[i];
    std::copy_n(merge.stride[i], kMaxAxes, stride[count]);
    ++count;
  }
  void append_output(const void* tensor) {
    data[count] = tensor;
    elements[count] = output_elements;
    std::int64_t step = 1;
    for (int a = axes - 1; a >= 0; --a, step *= extent[a + 1]) stride[count][a] = step;
    ++count;
  }
  /// Joins all axes and rows into one axis if no operand is broadcast.
  void flatten() {
    for (int i = 0; i < count; ++i)
      if (elements[i] != output_elements) return;
    axes = 1;
    output_elements *= rows;
    rows = 1;
    extent[0] = output_elements;
    for (int i = 0; i < count; ++i) elements[i] = output_elements, stride[i][0] = 1;
  }
  /// Whether V adjacent outputs are V adjacent elements or one element in every operand, with aligned addresses.
  bool wide(int v, const void* y) const {
    if (extent[axes - 1] % v != 0 || !aligned(y)) return false;
    for (int i = 0; i < count; ++i)
      if (stride[i][axes - 1] != 0 && !aligned(data[i])) return false;
    return true;
  }

 private:
  static constexpr int kMaxAxes = Merge::kMaxAxes;
};

struct Coordinates {
  std::int64_t row;
  std::int64_t axis[Merge::kMaxAxes];
};

__device__ inline std::int64_t offset_of(const Operands& o, int i, const Coordinates& c) {
  std::int64_t offset = c.row * o.elements[i];
  DPTRAIN_UNROLL
  for (int a = 0; a < Merge::kMaxAxes; ++a)
    if (a < o.axes) offset += c.axis[a] * o.stride[i][a];
  return offset;
}

template <int V, class T>
__device__ inline Lanes<V> load_broadcast(const Operands& o, int i, const Coordinates& c) {
  const T* const x = static_cast<const T*>(o.data[i]) + offset_of(o, i, c);
  if (V > 1 && o.stride[i][o.axes - 1] == 0) return all<V>(to_float(*x));
  return load<V>(x);
}

template <class T, int V, class Pass>
__global__ void merge_kernel(const Operands o, const Pass pass, T* y) {
  const std::int64_t packs = o.rows * o.output_elements / V;
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    Coordinates c;
    std::int64_t rest = i;
    DPTRAIN_UNROLL
    for (int a = Merge::kMaxAxes - 1; a >= 0; --a) {
      if (a >= o.axes) continue;
      const bool last = a == o.axes - 1;
      const Split s = split(rest, last ? o.extent[a] / V : o.extent[a]);
      c.axis[a] = last ? s.remainder * V : s.remainder;
      rest = s.quotient;
    }
    c.row = rest;
    store<V>(pass.template at<V, T>(o, c), y + i * V);
  }
}

/// A sum over the broadcast axes of one input.
struct Reduction {
  std::int64_t sums, terms;  ///< number of sums over all rows; terms per sum
  unsigned kept = 0;         ///< bit a: axis a is not broadcast
  int tile = 1;              ///< sums per thread block; kBlock / tile threads share one
  bool along = false;        ///< adjacent threads process adjacent sums instead of adjacent terms
};

template <class T, class Pass>
__global__ void reduce_kernel(const Operands o, const Reduction r, const Pass pass, T* dx) {
  __shared__ float partial[kBlock];
  const int lanes = kBlock / r.tile, thread = static_cast<int>(threadIdx.x);
  const int column = r.along ? thread % r.tile : thread / lanes;
  const int lane = r.along ? thread / r.tile : thread % lanes;
  const std::int64_t sum = static_cast<std::int64_t>(blockIdx.x) * r.tile + column;
  float total = 0.0F;
  for (std::int64_t term = lane; sum < r.sums && term < r.terms; term += lanes) {
    Coordinates c;
    std::int64_t rest_kept = sum, rest_spread = term;
    DPTRAIN_UNROLL
    for (int a = Merge::kMaxAxes - 1; a >= 0; --a) {
      if (a >= o.axes) continue;
      std::int64_t& rest = ((r.kept >> a) & 1U) != 0 ? rest_kept : rest_spread;
      const Split s = split(rest, o.extent[a]);
      c.axis[a] = s.remainder;
      rest = s.quotient;
    }
    c.row = rest_kept;
    total += pass.template at<1, T>(o, c).v[0];
  }
  partial[lane * r.tile + column] = total;
  for (int half = lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) partial[lane * r.tile + column] += partial[(lane + half) * r.tile + column];
  }
  if (lane == 0 && sum < r.sums) dx[sum] = from_float<T>(partial[column]);
}

/// y = the pass at all coordinates.
template <class Pass>
void run_merge(const Launch& at, DType type, Operands operands, const Pass& pass, void* y) {
  operands.flatten();
  const std::int64_t n = operands.rows * operands.output_elements;
  if (n <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kWide = kVector<T>;
    const bool wide = operands.wide(kWide, y);
    const auto kernel = wide ? merge_kernel<T, kWide, Pass> : merge_kernel<T, 1, Pass>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, n, wide ? kWide : 1), kBlock, operands, pass, static_cast<T*>(y));
  });
}

/// dx = the pass, summed over the broadcast axes of input i.
template <class Pass>
void run_reduction(const Launch& at, DType type, const Merge& merge, int i, const Operands& operands, const Pass& pass,
                   void* dx) {
  Reduction r{.sums = operands.rows * merge.elements[i], .terms = merge.output_elements / merge.elements[i]};
  if (r.sums <= 0) return;
  for (int a = 0; a < merge.axes; ++a)
    if (merge.stride[i][a] != 0) r.kept |= 1U << a;
  r.along = ((r.kept >> (merge.axes - 1)) & 1U) != 0;
  // Along the sums: enough for full accesses. Otherwise as many as leave each thread some terms.
  const auto power = [](std::int64_t least, int most) {
    int value = 1;
    while (value < least && value < most) value *= 2;
    return value;
  };
  r.tile = r.along ? power(merge.extent[merge.axes - 1], 32) : kBlock / power((r.terms + 3) / 4, kBlock);
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto kernel = reduce_kernel<T, Pass>;
    const std::int64_t blocks = (r.sums + r.tile - 1) / r.tile;
    DPTRAIN_LAUNCH(at, kernel, static_cast<unsigned>(blocks), kBlock, operands, r, pass, static_cast<T*>(dx));
  });
}

/// The pass as the gradient of input i, with or without a reduction.
template <class Pass>
void run_gradient(const Launch& at, DType type, const Merge& merge, int i, const Operands& operands, const Pass& pass,
                  void* dx) {
  if (merge.trivial(i)) return run_merge(at, type, operands, pass, dx);
  run_reduction(at, type, merge, i, operands, pass, dx);
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
