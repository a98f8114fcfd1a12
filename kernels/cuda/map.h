#pragma once

// y[i] = f(x0[i], x1[i], ...) over flat arrays, in float. y may be an input. Only for .cu files.

#include "kernels/cuda/lanes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

template <int V, class F, class... L>
__device__ inline Lanes<V> apply(const F& f, const L&... x) {
  Lanes<V> y;
  DPTRAIN_UNROLL
  for (int k = 0; k < V; ++k) y.v[k] = f(x.v[k]...);
  return y;
}

template <int V, class F, class Out, class... In>
__global__ void map_kernel(std::int64_t n, F f, Out* y, const In*... x) {
  const std::int64_t whole = n / V;
  for (std::int64_t i = thread_number(); i < whole; i += thread_count())
    store<V>(apply<V>(f, load<V>(x + i * V)...), y + i * V);
  for (std::int64_t i = whole * V + thread_number(); i < n; i += thread_count())
    store<1>(apply<1>(f, load<1>(x + i)...), y + i);
}

/// f: a struct with `__device__ operator()(float...) const`.
template <class F, class Out, class... In>
void map(const Launch& at, std::int64_t n, const F& f, Out* y, const In*... x) {
  if (n <= 0) return;
  // Byte arrays do not limit the width: eight bytes are one access, too.
  constexpr int kWide = std::max({kVector<Out>, (sizeof(In) == 1 ? 1 : kVector<In>)...});
  const bool wide = aligned(y, x...);
  const auto kernel = wide ? map_kernel<kWide, F, Out, In...> : map_kernel<1, F, Out, In...>;
  DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, n, wide ? kWide : 1), kBlock, n, f, y, x...);
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
