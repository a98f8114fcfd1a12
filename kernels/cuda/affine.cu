#include "kernels/cuda/affine.h"

#include "kernels/cuda/map.h"

namespace dptrain::kernels::DPTRAIN_GPU {
namespace {

struct AffineMap {
  float scale, offset;
  __device__ float operator()(float x) const { return x * scale + offset; }
};

template <class T, int V>
__global__ void channel_affine_kernel(const T* x, const float* shift, const float* scale, const float* offset,
                                      std::int64_t packs, std::int64_t packs_per_row, T* y) {
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    const std::int64_t channel = split(i, packs_per_row).remainder * V;
    Lanes<V> value = load<V>(x + i * V);
    const Lanes<V> from = load<V>(shift + channel), factor = load<V>(scale + channel), to = load<V>(offset + channel);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) value.v[k] = fmaf(value.v[k] - from.v[k], factor.v[k], to.v[k]);
    store<V>(value, y + i * V);
  }
}

}  // namespace

void scale_offset(const Launch& at, DType type, const void* x, float scale, float offset, void* y, std::int64_t n) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    map(at, n, AffineMap{scale, offset}, static_cast<T*>(y), static_cast<const T*>(x));
  });
}

void channel_affine(const Launch& at, DType type, const void* x, const float* shift, const float* scale,
                    const float* offset, std::int64_t n, std::int64_t channels, void* y) {
  if (n <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kWide = kVector<T>;
    const bool wide = channels % kWide == 0 && aligned(x, shift, scale, offset, y);
    const int v = wide ? kWide : 1;
    const auto kernel = wide ? channel_affine_kernel<T, kWide> : channel_affine_kernel<T, 1>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, n / v), kBlock, static_cast<const T*>(x), shift, scale, offset, n / v,
                        channels / v, static_cast<T*>(y));
  });
}

}  // namespace dptrain::kernels::DPTRAIN_GPU
