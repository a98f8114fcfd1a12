#include "kernels/cuda/merge.h"
#include "kernels/cuda/merge_operands.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// The largest or smallest operand; NaN if any is, since comparisons with it are false.
template <bool kLargest>
struct ExtremePass {
  __device__ static float of(float a, float b) { return (kLargest ? a >= b : a <= b) || a != a ? a : b; }

  template <int V, class T>
  __device__ Lanes<V> at(const Operands& o, const Coordinates& c) const {
    Lanes<V> result = load_broadcast<V, T>(o, 0, c);
    for (int operand = 1; operand < o.count; ++operand) {
      const Lanes<V> x = load_broadcast<V, T>(o, operand, c);
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) result.v[k] = of(result.v[k], x.v[k]);
    }
    return result;
  }
};

/// Operands: the output's gradient, the output, the input, and the inputs before it.
struct WinnerPass {
  template <int V, class T>
  __device__ Lanes<V> at(const Operands& o, const Coordinates& c) const {
    Lanes<V> result = load_broadcast<V, T>(o, 0, c);
    const Lanes<V> y = load_broadcast<V, T>(o, 1, c);
    for (int operand = 2; operand < o.count; ++operand) {
      const Lanes<V> x = load_broadcast<V, T>(o, operand, c);
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k)
        if ((x.v[k] == y.v[k]) != (operand == 2)) result.v[k] = 0.0F;
    }
    return result;
  }
};

}  // namespace

void extreme_forward(const Launch& at, DType type, Extreme which, const Merge& merge, const void* const* inputs,
                     std::int64_t rows, void* y) {
  const Operands operands(merge, rows, inputs);
  if (which == Extreme::kLargest)
    run_merge(at, type, operands, ExtremePass<true>{}, y);
  else
    run_merge(at, type, operands, ExtremePass<false>{}, y);
}

void extreme_backward(const Launch& at, DType type, const Merge& merge, int i, const void* const* inputs, const void* y,
                      const void* dy, std::int64_t rows, void* dx) {
  Operands operands(merge, rows);
  operands.append_output(dy);
  operands.append_output(y);
  operands.append(merge, i, inputs);
  for (int before = 0; before < i; ++before) operands.append(merge, before, inputs);
  run_gradient(at, type, merge, i, operands, WinnerPass{}, dx);
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
