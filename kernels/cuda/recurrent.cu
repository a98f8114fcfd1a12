#include "kernels/cuda/recurrent.h"

#include "kernels/cuda/lanes.h"
#include "kernels/cuda/recurrent_places.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

__global__ void find_begins_kernel(const RecurrentSteps steps, std::int32_t* begins) {
  for (std::int64_t row = thread_number(); row < steps.rows; row += thread_count()) {
    std::int64_t s = 0;
    while (s < steps.steps && steps.mask[row * steps.steps + (steps.backwards ? steps.steps - 1 - s : s)] == 0) ++s;
    begins[row] = static_cast<std::int32_t>(s);
  }
}

template <class T>
__global__ void drop_state_kernel(std::int64_t states, std::int64_t operands, const T* h, const T* factors, T* to) {
  for (std::int64_t i = thread_number(); i < operands; i += thread_count())
    to[i] = from_float<T>(to_float(h[split(i, states).remainder]) * to_float(factors[i]));
}

template <class T>
__global__ void collect_kernel(const RecurrentSteps steps, std::int64_t s, const T* products, const T* factors,
                               bool add, float* dh) {
  const std::int64_t states = steps.rows * steps.units;
  for (std::int64_t i = thread_number(); i < states; i += thread_count()) {
    if (!StepPlace::of(steps, i, s).valid) continue;
    float sum = 0.0F;
    if (!steps.by_gate) {
      sum = to_float(products[i]);
    } else {
      for (std::int64_t k = i; k < steps.gates * states; k += states) {
        const float product = to_float(products[k]);
        sum += factors == nullptr ? product : product * to_float(factors[k]);
      }
    }
    dh[i] = add ? dh[i] + sum : sum;
  }
}

/// Index in the order by step of element i in the order by row.
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

/// Indices of a unit of a row's step in both passes' outputs and in the merged output.
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

void find_begins(const Launch& at, const RecurrentSteps& steps, std::int32_t* begins) {
  if (steps.rows <= 0) return;
  DPTRAIN_LAUNCH_FLAT(at, find_begins_kernel, grid_for(at, steps.rows), kBlock, steps, begins);
}

void drop_state(const Launch& at, DType type, const RecurrentSteps& steps, const void* h, const void* factors,
                void* operands) {
  const std::int64_t states = steps.rows * steps.units, all = steps.gates * states;
  if (all <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, drop_state_kernel<T>, grid_for(at, all), kBlock, states, all, static_cast<const T*>(h),
                        static_cast<const T*>(factors), static_cast<T*>(operands));
  });
}

void collect_state_gradient(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s,
                            const void* products, const void* factors, bool add, float* dh) {
  const std::int64_t states = steps.rows * steps.units;
  if (states <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, collect_kernel<T>, grid_for(at, states), kBlock, steps, s, static_cast<const T*>(products),
                        static_cast<const T*>(factors), add, dh);
  });
}

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
