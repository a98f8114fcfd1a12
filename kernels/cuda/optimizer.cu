#include "kernels/cuda/optimizer.h"

#include "kernels/cuda/optimizer_pass.h"

// Updates as passes of flat.h (Adam and its relatives: adam.cu).

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

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

struct Adadelta : Common {
  float *v, *d;
  float rho, share, epsilon;

  template <int V>
  __device__ void run(std::int64_t i) const {
    const Lanes<V> gradient = load<V>(g + i);
    Lanes<V> w = load<V>(weights.w + i), square = load<V>(v + i), moves = load<V>(d + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) {
      const float x = gradient.v[k];
      square.v[k] = fmaf(rho, square.v[k], share * (x * x));
      const float move = sqrtf(moves.v[k] + epsilon) * x / sqrtf(square.v[k] + epsilon);
      moves.v[k] = fmaf(rho, moves.v[k], share * (move * move));
      w.v[k] = fmaf(-rate, move, decayed(w.v[k]));
    }
    store<V>(square, v + i);
    store<V>(moves, d + i);
    write<V>(w, i);
  }
};

struct Lion : Common {
  float* m;
  float keep_1, share_1, keep_2, share_2;

  template <int V>
  __device__ void run(std::int64_t i) const {
    const Lanes<V> gradient = load<V>(g + i);
    Lanes<V> w = load<V>(weights.w + i), mean = load<V>(m + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) {
      const float ahead = fmaf(keep_1, mean.v[k], share_1 * gradient.v[k]);
      const float move = ahead == 0.0F ? 0.0F : ahead != ahead ? ahead : copysignf(rate, ahead);  // NaN propagates
      mean.v[k] = fmaf(keep_2, mean.v[k], share_2 * gradient.v[k]);
      w.v[k] = decayed(w.v[k]) - move;
    }
    store<V>(mean, m + i);
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
      value.v[k] = value.v[k] > limit ? limit : value.v[k] < -limit ? -limit : value.v[k];  // NaN propagates
    store<V>(value, x + i);
  }
};

}  // namespace

void sgd_update(const Launch& at, const SgdPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                const UpdatedWeights& weights, float* m) {
  const Sgd update{common_of(state, g, weights, pass.weight_decay), m, static_cast<float>(pass.momentum),
                   pass.nesterov};
  flat(at, update, n, aligned(g, weights.w, static_cast<char*>(weights.compute), m));
}

void rmsprop_update(const Launch& at, const RmspropPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                    const UpdatedWeights& weights, float* v, float* m, float* mean) {
  const Rmsprop update{common_of(state, g, weights, pass.weight_decay),
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
  const Adagrad update{common_of(state, g, weights, pass.weight_decay), accumulator, static_cast<float>(pass.epsilon)};
  flat(at, update, n, aligned(g, weights.w, static_cast<char*>(weights.compute), accumulator));
}

void adadelta_update(const Launch& at, const AdadeltaPass& pass, const UpdateState& state, const float* g,
                     std::int64_t n, const UpdatedWeights& weights, float* v, float* d) {
  const Adadelta update{common_of(state, g, weights, pass.weight_decay),
                        v,
                        d,
                        static_cast<float>(pass.rho),
                        static_cast<float>(1.0 - pass.rho),
                        static_cast<float>(pass.epsilon)};
  flat(at, update, n, aligned(g, weights.w, static_cast<char*>(weights.compute), v, d));
}

void lion_update(const Launch& at, const LionPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                 const UpdatedWeights& weights, float* m) {
  const Lion update{common_of(state, g, weights, pass.weight_decay),
                    m,
                    static_cast<float>(pass.beta_1),
                    static_cast<float>(1.0 - pass.beta_1),
                    static_cast<float>(pass.beta_2),
                    static_cast<float>(1.0 - pass.beta_2)};
  flat(at, update, n, aligned(g, weights.w, static_cast<char*>(weights.compute), m));
}

void ema_update(const Launch& at, double momentum, std::int64_t overwrite_every, const UpdateState& state,
                std::int64_t n, const UpdatedWeights& weights, float* average) {
  const Ema update{common_of(state, nullptr, weights, 0.0), average, static_cast<float>(momentum),
                   static_cast<float>(1.0 - momentum), overwrite_every};
  flat(at, update, n, aligned(weights.w, static_cast<char*>(weights.compute), average));
}

void clip_by_value(const Launch& at, float limit, std::int64_t n, float* x) {
  flat(at, ClipByValue{limit, x}, n, aligned(x));
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
