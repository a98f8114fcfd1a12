#include "kernels/cuda/merge.h"

#include <stdexcept>
#include <string>

#include "kernels/cuda/activation.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/map.h"
#include "kernels/cuda/merge_operands.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

struct SumPass {
  float factor;
  bool relu;

  template <int V, class T>
  __device__ Lanes<V> at(const Operands& o, const Coordinates& c) const {
    Lanes<V> result = load_broadcast<V, T>(o, 0, c);
    for (int operand = 1; operand < o.count; ++operand) {
      const Lanes<V> x = load_broadcast<V, T>(o, operand, c);
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) result.v[k] += x.v[k];
    }
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) result.v[k] = relu && result.v[k] <= 0.0F ? 0.0F : factor * result.v[k];
    return result;
  }
};

/// The product of the operands. `masked`: zero where the last operand, a ReLU's output, is not positive.
struct ProductPass {
  bool masked = false;

  template <int V, class T>
  __device__ Lanes<V> at(const Operands& o, const Coordinates& c) const {
    const int factors = o.count - (masked ? 1 : 0);
    Lanes<V> result = load_broadcast<V, T>(o, 0, c);
    for (int operand = 1; operand < factors; ++operand) {
      const Lanes<V> x = load_broadcast<V, T>(o, operand, c);
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) result.v[k] *= x.v[k];
    }
    if (masked) {
      const Lanes<V> gate = load_broadcast<V, T>(o, factors, c);
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) result.v[k] = gate.v[k] > 0.0F ? result.v[k] : 0.0F;
    }
    return result;
  }
};

struct DifferencePass {
  template <int V, class T>
  __device__ Lanes<V> at(const Operands& o, const Coordinates& c) const {
    Lanes<V> result = load_broadcast<V, T>(o, 0, c);
    const Lanes<V> x = load_broadcast<V, T>(o, 1, c);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) result.v[k] -= x.v[k];
    return result;
  }
};

struct SumRelu {
  bool relu;
  __device__ float operator()(float a, float b) const {
    const float sum = a + b;
    return relu && sum <= 0.0F ? 0.0F : sum;
  }
};

struct AddScaled {
  float factor;
  __device__ float operator()(float a, float b) const { return fmaf(b, factor, a); }
};

template <int V, class T>
__device__ inline void pass_relu(const T* output, const T* dy, std::int64_t i, T* dx0, T* dx1) {
  const Lanes<V> gate = load<V>(output + i);
  Lanes<V> gradient = load<V>(dy + i);
  DPTRAIN_UNROLL
  for (int k = 0; k < V; ++k)
    if (!(gate.v[k] > 0.0F)) gradient.v[k] = 0.0F;
  store<V>(gradient, dx0 + i);
  store<V>(gradient, dx1 + i);
}

template <class T, int V>
__global__ void add_relu_backward_kernel(const T* output, const T* dy, std::int64_t n, T* dx0, T* dx1) {
  const std::int64_t whole = n / V;
  for (std::int64_t i = thread_number(); i < whole; i += thread_count()) pass_relu<V>(output, dy, i * V, dx0, dx1);
  for (std::int64_t i = whole * V + thread_number(); i < n; i += thread_count()) pass_relu<1>(output, dy, i, dx0, dx1);
}

}  // namespace

Merge::Merge(const std::vector<std::vector<std::int64_t>>& input_shapes, const std::vector<std::int64_t>& output_shape)
    : inputs(static_cast<int>(input_shapes.size())) {
  if (inputs < 1 || inputs > kMaxInputs)
    throw std::invalid_argument("merge: " + std::to_string(inputs) + " inputs, expected 1 to " +
                                std::to_string(kMaxInputs));
  unsigned spread_before = 0;  // bit i: whether input i is broadcast along the previous axis
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
  run_merge(at, type, Operands(merge, rows, inputs), SumPass{1.0F, relu}, y);
}

void average_forward(const Launch& at, DType type, const Merge& merge, const void* const* inputs, std::int64_t rows,
                     void* y) {
  const SumPass mean{1.0F / static_cast<float>(merge.inputs), false};
  run_merge(at, type, Operands(merge, rows, inputs), mean, y);
}

void subtract_forward(const Launch& at, DType type, const Merge& merge, const void* const* inputs, std::int64_t rows,
                      void* y) {
  run_merge(at, type, Operands(merge, rows, inputs), DifferencePass{}, y);
}

void add_scaled(const Launch& at, DType type, const void* a, const void* b, float factor, std::int64_t n, void* y) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    map(at, n, AddScaled{factor}, static_cast<T*>(y), static_cast<const T*>(a), static_cast<const T*>(b));
  });
}

void scaled_backward(const Launch& at, DType type, const Merge& merge, int i, float factor, const void* dy,
                     std::int64_t rows, void* dx) {
  if (merge.trivial(i)) return scale(at, type, factor, dy, dx, rows * merge.output_elements);
  Operands operands(merge, rows);
  operands.append_output(dy);
  run_reduction(at, type, merge, i, operands, SumPass{factor, false}, dx);
}

void add_backward(const Launch& at, DType type, const Merge& merge, int i, const void* output, const void* dy,
                  std::int64_t rows, void* dx) {
  const std::int64_t n = rows * merge.output_elements;
  if (merge.trivial(i)) {
    if (output == nullptr) return copy(at, type, dy, dx, n);
    return activation_backward_from_output(at, type, Activation::kRelu, 0.0F, output, dy, dx, n);
  }
  Operands operands(merge, rows);
  operands.append_output(dy);
  if (output != nullptr) operands.append_output(output);
  run_reduction(at, type, merge, i, operands, ProductPass{.masked = output != nullptr}, dx);
}

void add_relu_backward(const Launch& at, DType type, const void* output, const void* dy, std::int64_t n, void* dx0,
                       void* dx1) {
  if (n <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const bool wide = aligned(output, dy, dx0, dx1);
    const auto kernel = wide ? add_relu_backward_kernel<T, kVector<T>> : add_relu_backward_kernel<T, 1>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, n, wide ? kVector<T> : 1), kBlock, static_cast<const T*>(output),
                        static_cast<const T*>(dy), n, static_cast<T*>(dx0), static_cast<T*>(dx1));
  });
}

void multiply_forward(const Launch& at, DType type, const Merge& merge, const void* const* inputs, std::int64_t rows,
                      void* y) {
  run_merge(at, type, Operands(merge, rows, inputs), ProductPass{}, y);
}

void multiply_backward(const Launch& at, DType type, const Merge& merge, int i, const void* const* inputs,
                       const void* dy, std::int64_t rows, void* dx) {
  Operands operands(merge, rows);
  operands.append_output(dy);
  for (int j = 0; j < merge.inputs; ++j)
    if (j != i) operands.append(merge, j, inputs);
  run_gradient(at, type, merge, i, operands, ProductPass{}, dx);
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
