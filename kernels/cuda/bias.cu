#include "kernels/cuda/bias.h"

#include "kernels/cuda/column_sums.h"
#include "kernels/cuda/elementwise.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// Rows per block of the first stage: enough work for a block, but few enough blocks for the second stage.
std::int64_t rows_per_block(std::int64_t rows) { return std::max<std::int64_t>(64, (rows + 1023) / 1024); }

template <class T, int V>
__global__ void bias_add_kernel(const T* x, const float* bias, std::int64_t groups, std::int64_t groups_per_row, T* y) {
  for (std::int64_t i = thread_number(); i < groups; i += thread_count()) {
    Lanes<V> value = load<V>(x + i * V);
    const Lanes<V> shift = load<V>(bias + split(i, groups_per_row).remainder * V);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) value.v[k] += shift.v[k];
    store<V>(value, y + i * V);
  }
}

template <class T>
void gradient_in_two_stages(const Launch& at, const T* y, T* dy, std::int64_t rows, std::int64_t channels,
                            float* workspace, float* gradient) {
  if (rows <= 0) return fill(at, 0.0F, gradient, channels);
  const std::int64_t size = rows_per_block(rows), blocks = (rows + size - 1) / size;
  column_sums(at, rows, channels, size, 1.0F, 32, dy, y, workspace);
  // 32 bytes per tile, so that even few channels use many threads.
  column_sums<float, float>(at, blocks, channels, blocks, 1.0F, 8, workspace, nullptr, gradient);
}

}  // namespace

void bias_add(const Launch& at, DType type, const void* x, const float* bias, std::int64_t rows, std::int64_t channels,
              void* y) {
  if (rows <= 0 || channels <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kWide = kVector<T>;
    const bool wide = channels % kWide == 0 && aligned(x, bias, y);
    const int v = wide ? kWide : 1;
    const auto bias_add_pass = wide ? bias_add_kernel<T, kWide> : bias_add_kernel<T, 1>;
    DPTRAIN_LAUNCH_FLAT(at, bias_add_pass, grid_for(at, rows * channels / v), kBlock, static_cast<const T*>(x), bias,
                        rows * channels / v, channels / v, static_cast<T*>(y));
  });
}

std::int64_t bias_gradient_workspace(std::int64_t rows, std::int64_t channels) {
  const std::int64_t size = rows_per_block(rows);
  return (rows + size - 1) / size * channels;
}

void bias_gradient(const Launch& at, DType type, const void* dy, std::int64_t rows, std::int64_t channels,
                   float* workspace, float* gradient) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    // Without a mask, dy is not written.
    gradient_in_two_stages<T>(at, nullptr, static_cast<T*>(const_cast<void*>(dy)), rows, channels, workspace, gradient);
  });
}

void relu_bias_gradient(const Launch& at, DType type, const void* y, void* dy, std::int64_t rows, std::int64_t channels,
                        float* workspace, float* gradient) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    gradient_in_two_stages<T>(at, static_cast<const T*>(y), static_cast<T*>(dy), rows, channels, workspace, gradient);
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
