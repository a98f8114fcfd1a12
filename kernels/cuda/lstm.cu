#include "kernels/cuda/recurrent.h"
#include "kernels/cuda/recurrent_places.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

struct LstmKinds {
  NamedActivation open, squash;  ///< recurrent_activation, activation
};

template <class T>
__global__ void lstm_forward_kernel(const RecurrentSteps steps, std::int64_t s, const LstmKinds kinds, T* gates,
                                    const T* products, const LstmStep step) {
  T *const h = static_cast<T*>(step.h), *const hidden = static_cast<T*>(step.hidden),
           *const y = static_cast<T*>(step.y);
  for (std::int64_t i = thread_number(); i < steps.rows * steps.units; i += thread_count()) {
    const StepPlace place = StepPlace::of(steps, i, s);
    const std::int64_t kept = place.in_time(steps);
    if (hidden != nullptr) hidden[kept] = h[i];
    if (place.valid) {
      float value[4];
      DPTRAIN_UNROLL
      for (int gate = 0; gate < 4; ++gate) {
        const std::int64_t at = place.in_sums(steps, gate);
        const float z = to_float(gates[at]) + to_float(products[place.in_products(steps, gate)]);
        value[gate] = gate == 2 ? kinds.squash.value(z) : kinds.open.value(z);
        gates[at] = from_float<T>(value[gate]);
      }
      const float c = value[1] * step.c[i] + value[0] * value[2], squashed = kinds.squash.value(c);
      step.c[i] = c;
      h[i] = from_float<T>(value[3] * squashed);
      if (step.squashed != nullptr) step.squashed[kept] = squashed;
    }
    if (step.cell != nullptr) step.cell[kept] = step.c[i];
    const std::int64_t output = place.in_outputs(steps);
    if (y != nullptr && output >= 0) y[output] = place.begun ? h[i] : from_float<T>(0.0F);
  }
}

template <class T>
__global__ void lstm_backward_kernel(const RecurrentSteps steps, std::int64_t s, const LstmKinds kinds, T* gates, T* dz,
                                     const LstmStepBack step) {
  const T* const dy = static_cast<const T*>(step.dy);
  for (std::int64_t i = thread_number(); i < steps.rows * steps.units; i += thread_count()) {
    const StepPlace place = StepPlace::of(steps, i, s);
    const std::int64_t output = place.in_outputs(steps), kept = place.in_time(steps);
    float dh = step.dh[i];
    if (dy != nullptr && output >= 0 && place.begun) dh += to_float(dy[output]);
    step.dh[i] = dh;
    float value[4] = {}, d[4] = {};
    if (place.valid) {
      for (int gate = 0; gate < 4; ++gate) value[gate] = to_float(gates[place.in_sums(steps, gate)]);
      const float squashed = step.squashed[kept];
      const float before = s > 0 ? step.cell[place.in_time(steps, s - 1)] : step.c0 != nullptr ? step.c0[i] : 0.0F;
      const float dc = step.dc[i] + kinds.squash.from_output(squashed, dh * value[3]);
      d[0] = kinds.open.from_output(value[0], dc * value[2]);
      d[1] = kinds.open.from_output(value[1], dc * before);
      d[2] = kinds.squash.from_output(value[2], dc * value[0]);
      d[3] = kinds.open.from_output(value[3], dh * squashed);
      step.dc[i] = dc * value[1];
    }
    for (int gate = 0; gate < 4; ++gate) {
      const T rounded = from_float<T>(d[gate]);
      gates[place.in_sums(steps, gate)] = rounded;
      dz[place.in_products(steps, gate)] = rounded;
    }
  }
}

LstmKinds kinds_of(const RecurrentSteps& steps) { return {named(steps.recurrent_activation), named(steps.activation)}; }

}  // namespace

void lstm_step_forward(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s,
                       const LstmStep& step) {
  const std::int64_t states = steps.rows * steps.units;
  if (states <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, lstm_forward_kernel<T>, grid_for(at, states), kBlock, steps, s, kinds_of(steps),
                        static_cast<T*>(step.gates), static_cast<const T*>(step.products), step);
  });
}

void lstm_step_backward(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s,
                        const LstmStepBack& step) {
  const std::int64_t states = steps.rows * steps.units;
  if (states <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, lstm_backward_kernel<T>, grid_for(at, states), kBlock, steps, s, kinds_of(steps),
                        static_cast<T*>(step.gates), static_cast<T*>(step.dz), step);
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
