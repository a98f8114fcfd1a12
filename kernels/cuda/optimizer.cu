#include "kernels/cuda/optimizer.h"

#include <cmath>

#include "kernels/cuda/flat.h"

// The update of every optimizer as a pass of flat.h. Numbers that do not change from step to step are rounded to float
// on the host; rates are rounded from double by every thread, as the CPU device does.

namespace dptrain::kernels::DPTRAIN_GPU {
namespace {

__device__ inline bool is_skipped(const LossScale* scale) { return scale != nullptr && scale->found_inf != 0; }

/// Updates that were made before this step.
__device__ inline std::int64_t updates_before(const UpdateState& state) {
  return state.step->step - (state.scale == nullptr ? 0 : state.scale->skipped);
}

/// What all updates have in common: gradients, weights with their decay, and the compute copy.
struct Common {
  UpdateState state;
  const float* g;
  UpdatedWeights weights;
  double weight_decay;
  float rate = 0, decay = 0;

  __device__ bool begin() {
    if (is_skipped(state.scale)) return false;
    rate = static_cast<float>(state.step->learning_rate);
    decay = static_cast<float>(state.step->learning_rate * weight_decay);
    return true;
  }

  __device__ float decayed(float w) const { return fmaf(-decay, w, w); }

  template <int V>
  __device__ void write(const Lanes<V>& w, std::int64_t i) const {
    store<V>(w, weights.w + i);
    if (weights.compute == nullptr) return;
    if (weights.compute_type == DType::kBf16) store<V>(w, static_cast<bf16*>(weights.compute) + i);
    if (weights.compute_type == DType::kF16) store<V>(w, static_cast<half*>(weights.compute) + i);
    if (weights.compute_type == DType::kF32) store<V>(w, static_cast<float*>(weights.compute) + i);
  }
};

struct Sgd : Common {
  float* m;
  float momentum;
  bool nesterov;

  template <int V>
  __device__ void run(std::int64_t i) const {
    const Lanes<V> gradient = load<V>(g + i);
    Lanes<V> w = load<V>(weights.w + i), velocity = all<V>(0.0F);
    if (m != nullptr) velocity = load<V>(m + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) {
      float move = -(rate * gradient.v[k]);
      if (m != nullptr) {
        velocity.v[k] = fmaf(momentum, velocity.v[k], move);
        move = nesterov ? fmaf(momentum, velocity.v[k], move) : velocity.v[k];
      }
      w.v[k] = decayed(w.v[k]) + move;
    }
    if (m != nullptr) store<V>(velocity, m + i);
    write<V>(w, i);
  }
};

struct Adam : Common {
  float *m, *v, *v_max;
  float share_1, share_2, epsilon;
  double log_beta_1, log_beta_2;

  __device__ bool begin() {
    if (!Common::begin()) return false;
    double corrected = state.step->hyper[0];
    if (state.scale != nullptr && state.scale->skipped != 0) {
      const double t = static_cast<double>(updates_before(state) + 1);  // beta^t = e^(t ln beta)
      corrected = state.step->learning_rate * sqrt(-expm1(t * log_beta_2)) / -expm1(t * log_beta_1);
    }
    rate = static_cast<float>(corrected);
    return true;
  }

  template <int V>
  __device__ void run(std::int64_t i) const {
    const Lanes<V> gradient = load<V>(g + i);
    Lanes<V> w = load<V>(weights.w + i), mean = load<V>(m + i), square = load<V>(v + i), largest = all<V>(0.0F);
    if (v_max != nullptr) largest = load<V>(v_max + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) {
      const float x = gradient.v[k];
      mean.v[k] = fmaf(x - mean.v[k], share_1, mean.v[k]);
      square.v[k] = fmaf(fmaf(x, x, -square.v[k]), share_2, square.v[k]);
      if (largest.v[k] < square.v[k]) largest.v[k] = square.v[k];
      const float variance = v_max != nullptr ? largest.v[k] : square.v[k];
      w.v[k] = decayed(w.v[k]) - rate * mean.v[k] / (sqrtf(variance) + epsilon);
    }
    store<V>(mean, m + i);
    store<V>(square, v + i);
    if (v_max != nullptr) store<V>(largest, v_max + i);
    write<V>(w, i);
  }
};

struct Rmsprop : Common {
  float *v, *m, *mean;
  float rho, share, momentum, epsilon;

  template <int V>
  __device__ void run(std::int64_t i) const {
    const Lanes<V> gradient = load<V>(g + i);
    Lanes<V> w = load<V>(weights.w + i), square = load<V>(v + i), average = all<V>(0.0F), velocity = all<V>(0.0F);
    if (mean != nullptr) average = load<V>(mean + i);
    if (m != nullptr) velocity = load<V>(m + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) {
      const float x = gradient.v[k];
      square.v[k] = fmaf(rho, square.v[k], share * (x * x));
      float variance = square.v[k];
      if (mean != nullptr) {
        average.v[k] = fmaf(rho, average.v[k], share * x);
        variance = fmaf(-average.v[k], average.v[k], variance);
      }
      float move = rate * x / sqrtf(variance + epsilon);
      if (m != nullptr) move = velocity.v[k] = fmaf(momentum, velocity.v[k], move);
      w.v[k] = decayed(w.v[k]) - move;
    }
    store<V>(square, v + i);
    if (mean != nullptr) store<V>(average, mean + i);
    if (m != nullptr) store<V>(velocity, m + i);
    write<V>(w, i);
  }
};

struct Adagrad : Common {
  float* accumulator;
  float epsilon;

  template <int V>
  __device__ void run(std::int64_t i) const {
    const Lanes<V> gradient = load<V>(g + i);
    Lanes<V> w = load<V>(weights.w + i), sum = load<V>(accumulator + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) {
      const float x = gradient.v[k];
      sum.v[k] = fmaf(x, x, sum.v[k]);
      w.v[k] = decayed(w.v[k]) - rate * x / sqrtf(sum.v[k] + epsilon);
    }
    store<V>(sum, accumulator + i);
    write<V>(w, i);
  }
};

struct Ema : Common {
  float* average;
  float keep, share;
  std::int64_t overwrite_every;
  bool first = false, overwrite = false;

  __device__ bool begin() {
    const std::int64_t before = updates_before(state);
    first = before == 0;
    overwrite = overwrite_every > 0 && (before + 1) % overwrite_every == 0;
    return first || !is_skipped(state.scale);
  }

  template <int V>
  __device__ void run(std::int64_t i) const {
    const Lanes<V> w = load<V>(weights.w + i);
    Lanes<V> mean = w;
    if (!first) {
      mean = load<V>(average + i);
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) mean.v[k] = fmaf(keep, mean.v[k], share * w.v[k]);
    }
    store<V>(mean, average + i);
    if (overwrite) write<V>(mean, i);
  }
};

struct ClipByValue {
  float limit;
  float* x;
  __device__ bool begin() const { return true; }
  template <int V>
  __device__ void run(std::int64_t i) const {
    Lanes<V> value = load<V>(x + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k)
      value.v[k] = value.v[k] > limit ? limit : value.v[k] < -limit ? -limit : value.v[k];  // NaN passes
    store<V>(value, x + i);
  }
};

Common common(const UpdateState& state, const float* g, const UpdatedWeights& weights, double weight_decay) {
  return {.state = state, .g = g, .weights = weights, .weight_decay = weight_decay};
}

}  // namespace

void sgd_update(const Launch& at, const SgdPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                const UpdatedWeights& weights, float* m) {
  const Sgd update{common(state, g, weights, pass.weight_decay), m, static_cast<float>(pass.momentum), pass.nesterov};
  flat(at, update, n, aligned(g, weights.w, static_cast<char*>(weights.compute), m));
}

void adam_update(const Launch& at, const AdamPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                 const UpdatedWeights& weights, float* m, float* v, float* v_max) {
  const Adam update{common(state, g, weights, pass.weight_decay),
                    m,
                    v,
                    v_max,
                    static_cast<float>(1.0 - pass.beta_1),
                    static_cast<float>(1.0 - pass.beta_2),
                    static_cast<float>(pass.epsilon),
                    std::log(pass.beta_1),
                    std::log(pass.beta_2)};
  flat(at, update, n, aligned(g, weights.w, static_cast<char*>(weights.compute), m, v, v_max));
}

void rmsprop_update(const Launch& at, const RmspropPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                    const UpdatedWeights& weights, float* v, float* m, float* mean) {
  const Rmsprop update{common(state, g, weights, pass.weight_decay),
                       v,
                       m,
                       mean,
                       static_cast<float>(pass.rho),
                       static_cast<float>(1.0 - pass.rho),
                       static_cast<float>(pass.momentum),
                       static_cast<float>(pass.epsilon)};
  flat(at, update, n, aligned(g, weights.w, static_cast<char*>(weights.compute), v, m, mean));
}

void adagrad_update(const Launch& at, const AdagradPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                    const UpdatedWeights& weights, float* accumulator) {
  const Adagrad update{common(state, g, weights, pass.weight_decay), accumulator, static_cast<float>(pass.epsilon)};
  flat(at, update, n, aligned(g, weights.w, static_cast<char*>(weights.compute), accumulator));
}

void ema_update(const Launch& at, double momentum, std::int64_t overwrite_every, const UpdateState& state,
                std::int64_t n, const UpdatedWeights& weights, float* average) {
  const Ema update{common(state, nullptr, weights, 0.0), average, static_cast<float>(momentum),
                   static_cast<float>(1.0 - momentum), overwrite_every};
  flat(at, update, n, aligned(weights.w, static_cast<char*>(weights.compute), average));
}

void clip_by_value(const Launch& at, float limit, std::int64_t n, float* x) {
  flat(at, ClipByValue{limit, x}, n, aligned(x));
}

}  // namespace dptrain::kernels::DPTRAIN_GPU
