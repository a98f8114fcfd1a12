#include "kernels/cuda/frames.h"

#include "kernels/cuda/lanes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// Where element i of the order of rows lies in that of steps.
__device__ inline std::int64_t place_by_step(const FramesShape& s, std::int64_t i) {
  const Split channel = split(i, s.channels), pixel = split(channel.quotient, s.pixels),
              step = split(pixel.quotient, s.steps);
  return ((step.remainder * s.rows + step.quotient) * s.pixels + pixel.remainder) * s.stride + s.offset +
         channel.remainder;
}

template <class T>
__global__ void by_step_kernel(const FramesShape s, std::int64_t n, const T* by_row, T* by_step) {
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) by_step[place_by_step(s, i)] = by_row[i];
}

template <class T>
__global__ void by_row_kernel(const FramesShape s, std::int64_t n, const T* by_step, T* by_row) {
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) by_row[i] = by_step[place_by_step(s, i)];
}

}  // namespace

void frames_by_step(const Launch& at, DType type, const FramesShape& shape, const void* by_row, void* by_step) {
  const std::int64_t n = shape.elements();
  if (n <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, by_step_kernel<T>, grid_for(at, n), kBlock, shape, n, static_cast<const T*>(by_row),
                        static_cast<T*>(by_step));
  });
}

void frames_by_row(const Launch& at, DType type, const FramesShape& shape, const void* by_step, void* by_row) {
  const std::int64_t n = shape.elements();
  if (n <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, by_row_kernel<T>, grid_for(at, n), kBlock, shape, n, static_cast<const T*>(by_step),
                        static_cast<T*>(by_row));
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
