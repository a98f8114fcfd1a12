#include "kernels/cuda/directions.h"

#include "kernels/cuda/lanes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// A unit of a step of a row, in both outputs and in what they become.
struct DirectionPlace {
  std::int64_t forward, backward, y;
  bool valid;

  __device__ static DirectionPlace of(const DirectionShape& s, std::int64_t i) {
    const Split unit = split(i, s.units), step = split(unit.quotient, s.steps);
    const std::int64_t other = step.quotient * s.steps + s.steps - 1 - step.remainder,
                       width = s.merge == DirectionMerge::kConcat ? 2 * s.units : s.units;
    return {i, other * s.units + unit.remainder, unit.quotient * width + unit.remainder,
            s.mask == nullptr || s.mask[unit.quotient] != 0};
  }
};

template <class T>
__global__ void merge_directions_kernel(const DirectionShape s, const T* forward, const T* backward, T* y) {
  for (std::int64_t i = thread_number(); i < s.rows * s.steps * s.units; i += thread_count()) {
    const DirectionPlace place = DirectionPlace::of(s, i);
    const float f = place.valid ? to_float(forward[place.forward]) : 0.0F,
                b = place.valid ? to_float(backward[place.backward]) : 0.0F;
    if (s.merge == DirectionMerge::kConcat) {
      y[place.y] = from_float<T>(f);
      y[place.y + s.units] = from_float<T>(b);
    } else if (s.merge == DirectionMerge::kMul) {
      y[place.y] = from_float<T>(f * b);
    } else {
      y[place.y] = from_float<T>(s.merge == DirectionMerge::kSum ? f + b : (f + b) * 0.5F);
    }
  }
}

template <class T>
__global__ void split_directions_kernel(const DirectionShape s, const T* dy, const T* forward, const T* backward,
                                        T* d_forward, T* d_backward) {
  for (std::int64_t i = thread_number(); i < s.rows * s.steps * s.units; i += thread_count()) {
    const DirectionPlace place = DirectionPlace::of(s, i);
    float f = place.valid ? to_float(dy[place.y]) : 0.0F, b = f;
    if (place.valid && s.merge == DirectionMerge::kConcat) {
      b = to_float(dy[place.y + s.units]);
    } else if (place.valid && s.merge == DirectionMerge::kMul) {
      f *= to_float(backward[place.backward]);
      b *= to_float(forward[place.forward]);
    } else if (s.merge == DirectionMerge::kAve) {
      f *= 0.5F;
      b *= 0.5F;
    }
    d_forward[place.forward] = from_float<T>(f);
    d_backward[place.backward] = from_float<T>(b);
  }
}

}  // namespace

void merge_directions(const Launch& at, DType type, const DirectionShape& shape, const void* forward,
                      const void* backward, void* y) {
  const std::int64_t n = shape.rows * shape.steps * shape.units;
  if (n <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, merge_directions_kernel<T>, grid_for(at, n), kBlock, shape, static_cast<const T*>(forward),
                        static_cast<const T*>(backward), static_cast<T*>(y));
  });
}

void split_directions(const Launch& at, DType type, const DirectionShape& shape, const void* dy, const void* forward,
                      const void* backward, void* d_forward, void* d_backward) {
  const std::int64_t n = shape.rows * shape.steps * shape.units;
  if (n <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, split_directions_kernel<T>, grid_for(at, n), kBlock, shape, static_cast<const T*>(dy),
                        static_cast<const T*>(forward), static_cast<const T*>(backward), static_cast<T*>(d_forward),
                        static_cast<T*>(d_backward));
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
