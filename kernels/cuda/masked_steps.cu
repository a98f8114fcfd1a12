#include "kernels/cuda/masked_steps.h"

#include "kernels/cuda/lanes.h"
#include "kernels/cuda/number.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

template <class T>
__global__ void find_mask_kernel(const T* x, std::int64_t steps, std::int64_t width, float value, std::uint8_t* mask) {
  for (std::int64_t i = thread_number(); i < steps; i += thread_count()) {
    bool valid = false;
    for (std::int64_t c = 0; c < width && !valid; ++c) valid = to_float(x[i * width + c]) != value;
    mask[i] = valid ? 1 : 0;
  }
}

template <class T>
__global__ void keep_valid_kernel(const T* x, const std::uint8_t* mask, std::int64_t elements, std::int64_t width,
                                  T* y) {
  for (std::int64_t i = thread_number(); i < elements; i += thread_count())
    y[i] = mask[split(i, width).quotient] != 0 ? x[i] : from_float<T>(0.0F);
}

template <class T>
__global__ void fill_masked_kernel(const T* x, const std::uint8_t* mask, const std::uint8_t* others,
                                   std::int64_t elements, std::int64_t width, float value, T* y) {
  for (std::int64_t i = thread_number(); i < elements; i += thread_count()) {
    const std::int64_t step = split(i, width).quotient;
    y[i] = mask[step] == 0 && (others == nullptr || others[step] != 0) ? from_float<T>(value) : x[i];
  }
}

__device__ inline float valid_steps(const std::uint8_t* mask, std::int64_t steps) {
  std::int64_t count = 0;
  for (std::int64_t s = 0; s < steps; ++s) count += mask[s];
  return static_cast<float>(count);
}

/// One thread per feature of each row.
template <class T>
__global__ void masked_mean_kernel(const T* x, const std::uint8_t* mask, std::int64_t elements, std::int64_t steps,
                                   std::int64_t width, T* y) {
  for (std::int64_t i = thread_number(); i < elements; i += thread_count()) {
    const Split at = split(i, width);
    const std::uint8_t* const valid = mask + at.quotient * steps;
    float sum = 0.0F;
    for (std::int64_t s = 0; s < steps; ++s)
      if (valid[s] != 0) sum += to_float(x[(at.quotient * steps + s) * width + at.remainder]);
    y[i] = from_float<T>(sum / valid_steps(valid, steps));
  }
}

template <class T>
__global__ void masked_mean_gradient_kernel(const T* dy, const std::uint8_t* mask, std::int64_t elements,
                                            std::int64_t steps, std::int64_t width, T* dx) {
  for (std::int64_t i = thread_number(); i < elements; i += thread_count()) {
    const Split at = split(i, width);
    const std::uint8_t* const valid = mask + at.quotient * steps;
    const float g = to_float(dy[i]) / valid_steps(valid, steps);
    for (std::int64_t s = 0; s < steps; ++s)
      dx[(at.quotient * steps + s) * width + at.remainder] = from_float<T>(valid[s] != 0 ? g : 0.0F);
  }
}

}  // namespace

void mask_steps(const Launch& at, DType type, const void* x, std::int64_t steps, std::int64_t width, float value,
                std::uint8_t* mask, void* y) {
  if (steps <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, find_mask_kernel<T>, grid_for(at, steps), kBlock, static_cast<const T*>(x), steps, width,
                        value, mask);
  });
  keep_valid_steps(at, type, x, mask, steps, width, y);
}

void keep_valid_steps(const Launch& at, DType type, const void* x, const std::uint8_t* mask, std::int64_t steps,
                      std::int64_t width, void* y) {
  if (steps <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, keep_valid_kernel<T>, grid_for(at, steps * width), kBlock, static_cast<const T*>(x), mask,
                        steps * width, width, static_cast<T*>(y));
  });
}

void fill_masked_steps(const Launch& at, DType type, const void* x, const std::uint8_t* mask,
                       const std::uint8_t* others, std::int64_t steps, std::int64_t width, float value, void* y) {
  if (steps <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, fill_masked_kernel<T>, grid_for(at, steps * width), kBlock, static_cast<const T*>(x), mask,
                        others, steps * width, width, value, static_cast<T*>(y));
  });
}

void masked_mean_forward(const Launch& at, DType type, const void* x, const std::uint8_t* mask, std::int64_t rows,
                         std::int64_t steps, std::int64_t width, void* y) {
  if (rows <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, masked_mean_kernel<T>, grid_for(at, rows * width), kBlock, static_cast<const T*>(x), mask,
                        rows * width, steps, width, static_cast<T*>(y));
  });
}

void masked_mean_backward(const Launch& at, DType type, const void* dy, const std::uint8_t* mask, std::int64_t rows,
                          std::int64_t steps, std::int64_t width, void* dx) {
  if (rows <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, masked_mean_gradient_kernel<T>, grid_for(at, rows * width), kBlock,
                        static_cast<const T*>(dy), mask, rows * width, steps, width, static_cast<T*>(dx));
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
