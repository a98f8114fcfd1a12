#include "kernels/cuda/recurrent.h"

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

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
