#include "kernels/cuda/merge.h"

#include <stdexcept>
#include <string>

#include "kernels/cuda/activation.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/map.h"
#include "kernels/cuda/words.h"

namespace dptrain::kernels::DPTRAIN_GPU {
namespace {

/// Tensors that are read at the same coordinates of the output, for `rows` samples.
struct Operands {
  static constexpr int kMax = Merge::kMaxInputs;

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
  /// Input i of the merge.
  void append(const Merge& merge, int i, const void* const* inputs) {
    data[count] = inputs[i];
    elements[count] = merge.elements[i];
    std::copy_n(merge.stride[i], kMaxAxes, stride[count]);
    ++count;
  }
  /// A tensor of the output's shape.
  void append_output(const void* tensor) {
    data[count] = tensor;
    elements[count] = output_elements;
    std::int64_t step = 1;
    for (int a = axes - 1; a >= 0; --a, step *= extent[a + 1]) stride[count][a] = step;
    ++count;
  }
  /// Where nothing is spread, everything is one axis of one sample.
  void flatten() {
    for (int i = 0; i < count; ++i)
      if (elements[i] != output_elements) return;
    axes = 1;
    output_elements *= rows;
    rows = 1;
    extent[0] = output_elements;
    for (int i = 0; i < count; ++i) elements[i] = output_elements, stride[i][0] = 1;
  }
  /// Whether V neighbours in the output are V neighbours or one element in every operand, and `y` is aligned with them.
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

/// Where operand i has the element at `c`.
__device__ inline std::int64_t offset_of(const Operands& o, int i, const Coordinates& c) {
  std::int64_t offset = c.row * o.elements[i];
  DPTRAIN_UNROLL
  for (int a = 0; a < Merge::kMaxAxes; ++a)
    if (a < o.axes) offset += c.axis[a] * o.stride[i][a];
  return offset;
}

template <int V, class T>
__device__ inline Lanes<V> load_spread(const Operands& o, int i, const Coordinates& c) {
  const T* const x = static_cast<const T*>(o.data[i]) + offset_of(o, i, c);
  if (V > 1 && o.stride[i][o.axes - 1] == 0) return all<V>(to_float(*x));
  return load<V>(x);
}

/// y = the operands' sum or product.
template <class T, int V, bool kProduct>
__global__ void merge_kernel(const Operands o, bool relu, T* y) {
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
    Lanes<V> result = load_spread<V, T>(o, 0, c);
    for (int operand = 1; operand < o.count; ++operand) {
      const Lanes<V> x = load_spread<V, T>(o, operand, c);
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) result.v[k] = kProduct ? result.v[k] * x.v[k] : result.v[k] + x.v[k];
    }
    if (relu) {
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) result.v[k] = result.v[k] <= 0.0F ? 0.0F : result.v[k];
    }
    store<V>(result, y + i * V);
  }
}

/// A sum over the axes that one input is spread along.
struct Reduction {
  std::int64_t sums, terms;  ///< of all rows; of each sum
  unsigned kept = 0;         ///< bit a: axis a is the input's own
  int tile = 1;              ///< sums side by side in a thread block; kBlock / tile threads share one
  bool along = false;        ///< neighbouring threads take neighbouring sums, not neighbouring terms
  bool masked = false;       ///< the last operand is a ReLU's output: a term counts as zero where it is <= 0
};

template <class T>
__global__ void reduce_kernel(const Operands o, const Reduction r, T* dx) {
  __shared__ float partial[kBlock];
  const int lanes = kBlock / r.tile, thread = static_cast<int>(threadIdx.x);
  const int column = r.along ? thread % r.tile : thread / lanes;
  const int lane = r.along ? thread / r.tile : thread % lanes;
  const std::int64_t sum = static_cast<std::int64_t>(blockIdx.x) * r.tile + column;
  const int factors = o.count - (r.masked ? 1 : 0);
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
    float product = load_spread<1, T>(o, 0, c).v[0];
    for (int i = 1; i < factors; ++i) product *= load_spread<1, T>(o, i, c).v[0];
    if (r.masked && !(load_spread<1, T>(o, factors, c).v[0] > 0.0F)) product = 0.0F;
    total += product;
  }
  partial[lane * r.tile + column] = total;
  for (int half = lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) partial[lane * r.tile + column] += partial[(lane + half) * r.tile + column];
  }
  if (lane == 0 && sum < r.sums) dx[sum] = from_float<T>(partial[column]);
}

template <bool kProduct>
void run_merge(const Launch& at, DType type, Operands operands, bool relu, void* y) {
  operands.flatten();
  const std::int64_t n = operands.rows * operands.output_elements;
  if (n <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kWide = kVector<T>;
    const bool wide = operands.wide(kWide, y);
    const auto kernel = wide ? merge_kernel<T, kWide, kProduct> : merge_kernel<T, 1, kProduct>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, n, wide ? kWide : 1), kBlock, operands, relu, static_cast<T*>(y));
  });
}

/// dx = the product of the operands, summed over what input i is spread along.
void run_reduction(const Launch& at, DType type, const Merge& merge, int i, const Operands& operands, bool masked,
                   void* dx) {
  Reduction r{.sums = operands.rows * merge.elements[i], .terms = merge.output_elements / merge.elements[i]};
  if (r.sums <= 0) return;
  for (int a = 0; a < merge.axes; ++a)
    if (merge.stride[i][a] != 0) r.kept |= 1U << a;
  r.masked = masked;
  r.along = ((r.kept >> (merge.axes - 1)) & 1U) != 0;
  // Along the sums: as many as make full accesses. Otherwise as many as leave each thread some terms.
  const auto power = [](std::int64_t least, int most) {
    int value = 1;
    while (value < least && value < most) value *= 2;
    return value;
  };
  r.tile = r.along ? power(merge.extent[merge.axes - 1], 32) : kBlock / power((r.terms + 3) / 4, kBlock);
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto kernel = reduce_kernel<T>;
    const std::int64_t blocks = (r.sums + r.tile - 1) / r.tile;
    DPTRAIN_LAUNCH(at, kernel, static_cast<unsigned>(blocks), kBlock, operands, r, static_cast<T*>(dx));
  });
}

struct SumRelu {
  bool relu;
  __device__ float operator()(float a, float b) const {
    const float sum = a + b;
    return relu && sum <= 0.0F ? 0.0F : sum;
  }
};

template <class Word>
__global__ void copy_columns_kernel(const Word* src, std::int64_t src_stride, Word* dst, std::int64_t dst_stride,
                                    std::int64_t words, std::int64_t width) {
  for (std::int64_t i = thread_number(); i < words; i += thread_count()) {
    const Split place = split(i, width);
    dst[place.quotient * dst_stride + place.remainder] = src[place.quotient * src_stride + place.remainder];
  }
}

}  // namespace

Merge::Merge(const std::vector<std::vector<std::int64_t>>& input_shapes, const std::vector<std::int64_t>& output_shape)
    : inputs(static_cast<int>(input_shapes.size())) {
  if (inputs < 1 || inputs > kMaxInputs)
    throw std::invalid_argument("merge: " + std::to_string(inputs) + " inputs, expected 1 to " +
                                std::to_string(kMaxInputs));
  unsigned spread_before = 0;  // bit i: input i was spread along the last axis
  for (std::size_t d = 0; d < output_shape.size(); ++d) {
    const std::int64_t size = output_shape[d];
    output_elements *= size;
    unsigned spread = 0;
    for (std::size_t i = 0; i < input_shapes.size(); ++i) {
      const std::vector<std::int64_t>& shape = input_shapes[i];
      if (shape.size() > output_shape.size())
        throw std::invalid_argument("merge: an input has more axes than the output");
      const std::size_t missing = output_shape.size() - shape.size();
      const std::int64_t own = d < missing ? 1 : shape[d - missing];
      if (own != size && own != 1) throw std::invalid_argument("merge: an extent is neither the output's nor 1");
      if (own == 1) spread |= 1U << i;
    }
    if (size == 1) continue;
    if (axes > 0 && spread == spread_before) {
      extent[axes - 1] *= size;
    } else {
      if (axes == kMaxAxes) throw std::invalid_argument("merge: more than 8 axes");
      for (int i = 0; i < inputs; ++i) stride[i][axes] = ((spread >> i) & 1U) != 0 ? 0 : 1;
      extent[axes++] = size;
    }
    spread_before = spread;
  }
  if (axes == 0) {
    extent[axes++] = 1;
    for (int i = 0; i < inputs; ++i) stride[i][0] = 1;
  }
  for (int i = 0; i < inputs; ++i) {
    elements[i] = 1;
    for (int a = axes - 1; a >= 0; --a) {
      if (stride[i][a] == 0) continue;
      stride[i][a] = elements[i];
      elements[i] *= extent[a];
    }
  }
}

void add_forward(const Launch& at, DType type, const Merge& merge, const void* const* inputs, std::int64_t rows,
                 bool relu, void* y) {
  if (merge.inputs == 2 && merge.trivial(0) && merge.trivial(1)) {
    dispatch(type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      map(at, rows * merge.output_elements, SumRelu{relu}, static_cast<T*>(y), static_cast<const T*>(inputs[0]),
          static_cast<const T*>(inputs[1]));
    });
    return;
  }
  Operands operands(merge, rows);
  for (int i = 0; i < merge.inputs; ++i) operands.append(merge, i, inputs);
  run_merge<false>(at, type, operands, relu, y);
}

void add_backward(const Launch& at, DType type, const Merge& merge, int i, const void* output, const void* dy,
                  std::int64_t rows, void* dx) {
  const std::int64_t n = rows * merge.output_elements;
  if (merge.trivial(i)) {
    if (output == nullptr) return copy(at, type, dy, dx, n);
    return activation_backward_from_output(at, type, Activation::relu, 0.0F, output, dy, dx, n);
  }
  Operands operands(merge, rows);
  operands.append_output(dy);
  if (output != nullptr) operands.append_output(output);
  run_reduction(at, type, merge, i, operands, output != nullptr, dx);
}

void multiply_forward(const Launch& at, DType type, const Merge& merge, const void* const* inputs, std::int64_t rows,
                      void* y) {
  Operands operands(merge, rows);
  for (int i = 0; i < merge.inputs; ++i) operands.append(merge, i, inputs);
  run_merge<true>(at, type, operands, false, y);
}

void multiply_backward(const Launch& at, DType type, const Merge& merge, int i, const void* const* inputs,
                       const void* dy, std::int64_t rows, void* dx) {
  Operands operands(merge, rows);
  operands.append_output(dy);
  for (int j = 0; j < merge.inputs; ++j)
    if (j != i) operands.append(merge, j, inputs);
  if (merge.trivial(i)) return run_merge<true>(at, type, operands, false, dx);
  run_reduction(at, type, merge, i, operands, false, dx);
}

void copy_columns(const Launch& at, DType type, const void* src, std::int64_t src_stride, void* dst,
                  std::int64_t dst_stride, std::int64_t rows, std::int64_t width) {
  if (rows <= 0 || width <= 0) return;
  with_word(type, {src_stride, dst_stride, width}, {src, dst}, [&](auto zero) {
    using Word = decltype(zero);
    const std::int64_t columns = in_words<Word>(type, width), words = rows * columns;
    const auto kernel = copy_columns_kernel<Word>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, words), kBlock, static_cast<const Word*>(src),
                        in_words<Word>(type, src_stride), static_cast<Word*>(dst), in_words<Word>(type, dst_stride),
                        words, columns);
  });
}

}  // namespace dptrain::kernels::DPTRAIN_GPU
