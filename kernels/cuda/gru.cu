#include "kernels/cuda/recurrent.h"
#include "kernels/cuda/recurrent_places.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

struct GruKinds {
  NamedActivation open, squash;  ///< recurrent_activation, activation
};

template <class T>
__device__ inline float number_at(const void* from, std::int64_t i) {
  return from == nullptr ? 0.0F : to_float(static_cast<const T*>(from)[i]);
}

template <class T>
__global__ void gru_open_kernel(const RecurrentSteps steps, std::int64_t s, const GruKinds kinds, T* gates,
                                const T* products, const GruStep step) {
  T *const h = static_cast<T*>(step.h), *const hidden = static_cast<T*>(step.hidden);
  T *const inner = static_cast<T*>(step.inner), *const reset = static_cast<T*>(step.reset);
  for (std::int64_t i = thread_number(); i < steps.rows * steps.units; i += thread_count()) {
    const StepPlace place = StepPlace::of(steps, i, s);
    const std::int64_t kept = place.in_time(steps);
    if (hidden != nullptr) hidden[kept] = h[i];
    float open[2];
    for (int gate = 0; gate < 2; ++gate) {
      const std::int64_t at = place.in_sums(steps, gate);
      open[gate] = kinds.open.value(to_float(gates[at]) + to_float(products[place.in_products(steps, gate)]) +
                                    number_at<T>(step.bias, gate * steps.units + place.unit));
      gates[at] = from_float<T>(open[gate]);
    }
    const float value = step.reset_after ? to_float(products[place.in_products(steps, 2)]) +
                                               number_at<T>(step.bias, 2 * steps.units + place.unit)
                                         : open[1] * to_float(h[i]);
    reset[i] = from_float<T>(value);
    if (inner != nullptr) inner[kept] = reset[i];
    if (step.factors != nullptr)
      static_cast<T*>(step.operand)[i] = from_float<T>(value * number_at<T>(step.factors, i));
  }
}

template <class T>
__global__ void gru_mix_kernel(const RecurrentSteps steps, std::int64_t s, const GruKinds kinds, T* gates,
                               const T* products, const GruStep step) {
  T *const h = static_cast<T*>(step.h), *const y = static_cast<T*>(step.y);
  for (std::int64_t i = thread_number(); i < steps.rows * steps.units; i += thread_count()) {
    const StepPlace place = StepPlace::of(steps, i, s);
    if (place.valid) {
      const std::int64_t at = place.in_sums(steps, 2);
      const float keep = to_float(gates[place.in_sums(steps, 0)]);
      const float of_state = step.reset_after ? to_float(gates[place.in_sums(steps, 1)]) * number_at<T>(step.reset, i)
                                              : to_float(products[i]);
      const float candidate = kinds.squash.value(to_float(gates[at]) + of_state);
      gates[at] = from_float<T>(candidate);
      h[i] = from_float<T>(keep * to_float(h[i]) + (1.0F - keep) * candidate);
    }
    const std::int64_t output = place.in_outputs(steps);
    if (y != nullptr && output >= 0) y[output] = place.begun ? h[i] : from_float<T>(0.0F);
  }
}

template <class T>
__global__ void gru_unmix_kernel(const RecurrentSteps steps, std::int64_t s, const GruKinds kinds, T* gates,
                                 const GruStepBack step) {
  for (std::int64_t i = thread_number(); i < steps.rows * steps.units; i += thread_count()) {
    const StepPlace place = StepPlace::of(steps, i, s);
    const std::int64_t output = place.in_outputs(steps), at = place.in_sums(steps, 2);
    float dh = step.dh[i], of_z = 0.0F;
    T of_candidate = from_float<T>(0.0F);
    if (output >= 0 && place.begun) dh += number_at<T>(step.dy, output);
    if (place.valid) {
      const float keep = to_float(gates[place.in_sums(steps, 0)]), candidate = to_float(gates[at]);
      of_z = dh * (number_at<T>(step.hidden, place.in_time(steps)) - candidate);
      of_candidate = from_float<T>(kinds.squash.from_output(candidate, dh * (1.0F - keep)));
      dh *= keep;
    }
    step.dh[i] = dh;
    step.of_z[i] = of_z;
    gates[at] = of_candidate;
    if (!step.reset_after) static_cast<T*>(step.candidate)[i] = of_candidate;
  }
}

template <class T>
__global__ void gru_close_kernel(const RecurrentSteps steps, std::int64_t s, const GruKinds kinds, T* gates, T* dz,
                                 T* recurrent, const GruStepBack step) {
  for (std::int64_t i = thread_number(); i < steps.rows * steps.units; i += thread_count()) {
    const StepPlace place = StepPlace::of(steps, i, s);
    const std::int64_t kept = place.in_time(steps);
    float d[3] = {};
    if (place.valid) {
      const float keep = to_float(gates[place.in_sums(steps, 0)]), reset = to_float(gates[place.in_sums(steps, 1)]);
      float of_reset;
      if (step.reset_after) {
        const float of_candidate = to_float(gates[place.in_sums(steps, 2)]);
        of_reset = of_candidate * number_at<T>(step.inner, kept);
        d[2] = of_candidate * reset;
      } else {
        const float factor = step.factors == nullptr ? 1.0F : number_at<T>(step.factors, i);
        const float of_inner = number_at<T>(step.products, i) * factor;
        of_reset = of_inner * number_at<T>(step.hidden, kept);
        step.dh[i] += of_inner * reset;
      }
      d[0] = kinds.open.from_output(keep, step.of_z[i]);
      d[1] = kinds.open.from_output(reset, of_reset);
    }
    for (int gate = 0; gate < 3; ++gate) {
      const T rounded = from_float<T>(d[gate]);
      if (gate < 2) gates[place.in_sums(steps, gate)] = rounded;
      dz[place.in_products(steps, gate)] = rounded;
      if (step.reset_after) recurrent[place.in_sums(steps, gate)] = rounded;
    }
  }
}

GruKinds gru_kinds(const RecurrentSteps& steps) { return {named(steps.recurrent_activation), named(steps.activation)}; }

}  // namespace

void gru_step_open(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s, const GruStep& step) {
  const std::int64_t states = steps.rows * steps.units;
  if (states <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, gru_open_kernel<T>, grid_for(at, states), kBlock, steps, s, gru_kinds(steps),
                        static_cast<T*>(step.gates), static_cast<const T*>(step.products), step);
  });
}

void gru_step_mix(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s, const GruStep& step) {
  const std::int64_t states = steps.rows * steps.units;
  if (states <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, gru_mix_kernel<T>, grid_for(at, states), kBlock, steps, s, gru_kinds(steps),
                        static_cast<T*>(step.gates), static_cast<const T*>(step.products), step);
  });
}

void gru_step_unmix(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s,
                    const GruStepBack& step) {
  const std::int64_t states = steps.rows * steps.units;
  if (states <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, gru_unmix_kernel<T>, grid_for(at, states), kBlock, steps, s, gru_kinds(steps),
                        static_cast<T*>(step.gates), step);
  });
}

void gru_step_close(const Launch& at, DType type, const RecurrentSteps& steps, std::int64_t s,
                    const GruStepBack& step) {
  const std::int64_t states = steps.rows * steps.units;
  if (states <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, gru_close_kernel<T>, grid_for(at, states), kBlock, steps, s, gru_kinds(steps),
                        static_cast<T*>(step.gates), static_cast<T*>(step.dz), static_cast<T*>(step.recurrent), step);
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
