#include "kernels/cuda/recurrent.h"
#include "kernels/cuda/recurrent_places.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

template <class T>
__global__ void simple_rnn_forward_kernel(const RecurrentSteps steps, std::int64_t s, const NamedActivation kind,
                                          const T* sums, const T* products, const SimpleRnnStep step) {
  T *const h = static_cast<T*>(step.h), *const hidden = static_cast<T*>(step.hidden),
           *const y = static_cast<T*>(step.y);
  for (std::int64_t i = thread_number(); i < steps.rows * steps.units; i += thread_count()) {
    const StepPlace place = StepPlace::of(steps, i, s);
    if (hidden != nullptr) hidden[place.in_time(steps)] = h[i];
    if (place.valid) {
      const std::int64_t at = place.in_sums(steps, 0);
      const float value = kind.value(to_float(sums[at]) + to_float(products[place.in_products(steps, 0)]));
      h[i] = from_float<T>(value);
      if (step.squashed != nullptr) step.squashed[place.in_time(steps)] = value;
    }
    const std::int64_t output = place.in_outputs(steps);
    if (y != nullptr && output >= 0) y[output] = place.begun ? h[i] : from_float<T>(0.0F);
  }
}

template <class T>
__global__ void simple_rnn_backward_kernel(const RecurrentSteps steps, std::int64_t s, const NamedActivation kind,
                                           T* sums, T* dz, const SimpleRnnStepBack step) {
  const T* const dy = static_cast<const T*>(step.dy);
  for (std::int64_t i = thread_number(); i < steps.rows * steps.units; i += thread_count()) {
    const StepPlace place = StepPlace::of(steps, i, s);
    const std::int64_t output = place.in_outputs(steps), at = place.in_sums(steps, 0);
    float dh = step.dh[i];
    if (dy != nullptr && output >= 0 && place.begun) dh += to_float(dy[output]);
    step.dh[i] = dh;
    const T rounded = from_float<T>(place.valid ? kind.from_output(step.squashed[place.in_time(steps)], dh) : 0.0F);
    sums[at] = rounded;
    dz[place.in_products(steps, 0)] = rounded;
  }
}

}  // namespace

void simple_rnn_step_forward(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s,
                             const SimpleRnnStep& step) {
  const std::int64_t states = steps.rows * steps.units;
  if (states <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, simple_rnn_forward_kernel<T>, grid_for(at, states), kBlock, steps, s,
                        named(steps.activation), static_cast<const T*>(step.sums), static_cast<const T*>(step.products),
                        step);
  });
}

void simple_rnn_step_backward(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s,
                              const SimpleRnnStepBack& step) {
  const std::int64_t states = steps.rows * steps.units;
  if (states <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, simple_rnn_backward_kernel<T>, grid_for(at, states), kBlock, steps, s,
                        named(steps.activation), static_cast<T*>(step.sums), static_cast<T*>(step.dz), step);
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
