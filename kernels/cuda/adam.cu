#include "kernels/cuda/adam.h"

#include <cmath>

#include "kernels/cuda/optimizer_pass.h"
#include "kernels/cuda/segments.h"
#include "kernels/nadam_momenta.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// An update with averages of gradients and of their squares or magnitudes, and with factors that depend on t.
struct Moments : Common {
  float *m, *v;
  float share_1, share_2, epsilon;
  double log_beta_1, log_beta_2;

  /// 1 - beta_1^t and 1 - beta_2^t; t does not count skipped steps.
  __device__ double t() const { return static_cast<double>(updates_before(state) + 1); }
  __device__ double corrected_1() const { return -expm1(t() * log_beta_1); }  // beta^t = e^(t ln beta)
  __device__ double corrected_2() const { return -expm1(t() * log_beta_2); }
  __device__ void move_on(float x, float& mean, float& square) const {
    mean = fmaf(x - mean, share_1, mean);
    square = fmaf(fmaf(x, x, -square), share_2, square);
  }
  /// Whether the values in `hyper` are invalid, since the host counts skipped steps.
  __device__ bool counts_anew() const { return state.scale != nullptr && state.scale->skipped != 0; }
};

struct Adam : Moments {
  float* v_max;

  __device__ bool begin() {
    if (!Common::begin()) return false;
    double corrected = state.step->hyper[0];
    if (counts_anew()) corrected = state.step->learning_rate * sqrt(corrected_2()) / corrected_1();
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
      move_on(gradient.v[k], mean.v[k], square.v[k]);
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

struct Nadam : Moments {
  double beta_1, beta_2;
  float of_mean = 0, of_gradient = 0, of_square = 0;

  __device__ bool begin() {
    if (!Common::begin()) return false;
    const double* const hyper = state.step->hyper;
    NadamFactors factors{hyper[0], hyper[1], hyper[2]};
    if (counts_anew()) factors = nadam_factors(beta_1, beta_2, updates_before(state) + 1);
    of_mean = static_cast<float>(state.step->learning_rate * factors.average);
    of_gradient = static_cast<float>(state.step->learning_rate * factors.gradient);
    of_square = static_cast<float>(factors.square);
    return true;
  }

  template <int V>
  __device__ void run(std::int64_t i) const {
    const Lanes<V> gradient = load<V>(g + i);
    Lanes<V> w = load<V>(weights.w + i), mean = load<V>(m + i), square = load<V>(v + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) {
      move_on(gradient.v[k], mean.v[k], square.v[k]);
      const float ahead = fmaf(of_mean, mean.v[k], of_gradient * gradient.v[k]);
      w.v[k] = decayed(w.v[k]) - ahead / (sqrtf(of_square * square.v[k]) + epsilon);
    }
    store<V>(mean, m + i);
    store<V>(square, v + i);
    write<V>(w, i);
  }
};

struct Adamax : Moments {
  float keep;

  __device__ bool begin() {
    if (!Common::begin()) return false;
    double corrected = state.step->hyper[0];
    if (counts_anew()) corrected = state.step->learning_rate / corrected_1();
    rate = static_cast<float>(corrected);
    return true;
  }

  template <int V>
  __device__ void run(std::int64_t i) const {
    const Lanes<V> gradient = load<V>(g + i);
    Lanes<V> w = load<V>(weights.w + i), mean = load<V>(m + i), largest = load<V>(v + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) {
      const float x = gradient.v[k], kept = keep * largest.v[k], size = fabsf(x);
      mean.v[k] = fmaf(x - mean.v[k], share_1, mean.v[k]);
      largest.v[k] = kept > size ? kept : size;
      w.v[k] = decayed(w.v[k]) - rate * mean.v[k] / (largest.v[k] + epsilon);
    }
    store<V>(mean, m + i);
    store<V>(largest, v + i);
    write<V>(w, i);
  }
};

/// Everything but the weights' update, which needs the norms.
struct LambStep : Moments {
  float* move;
  float of_mean = 0, of_square = 0;

  __device__ bool begin() {
    if (!Common::begin()) return false;
    const double* const hyper = state.step->hyper;
    of_mean = static_cast<float>(counts_anew() ? 1 / corrected_1() : hyper[0]);
    of_square = static_cast<float>(counts_anew() ? 1 / corrected_2() : hyper[1]);
    return true;
  }

  template <int V>
  __device__ void run(std::int64_t i) const {
    Lanes<V> x = load<V>(move + i), w = load<V>(weights.w + i), mean = load<V>(m + i), square = load<V>(v + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) {
      move_on(x.v[k], mean.v[k], square.v[k]);
      x.v[k] = of_mean * mean.v[k] / (sqrtf(of_square * square.v[k]) + epsilon);
      w.v[k] = decayed(w.v[k]);
    }
    store<V>(mean, m + i);
    store<V>(square, v + i);
    store<V>(x, move + i);
    store<V>(w, weights.w + i);
  }
};

struct LambMove : Common {
  template <int V>
  __device__ void run(std::int64_t i) const {
    const Lanes<V> move = load<V>(g + i);
    Lanes<V> w = load<V>(weights.w + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) w.v[k] = fmaf(-rate, move.v[k], w.v[k]);
    write<V>(w, i);
  }
};

/// `squares`: sums of squares of each segment's weights, then of each segment's update.
__global__ void lamb_move_kernel(Cut<Rows<Segment>> cut, std::int64_t count, const double* squares, LambMove pass) {
  if (!pass.begin()) return;
  const double of_weights = sqrt(squares[cut.row()]), of_move = sqrt(squares[count + cut.row()]);
  const double trust = of_weights > 0 && of_move > 0 ? of_weights / of_move : 1.0;
  pass.rate = static_cast<float>(pass.state.step->learning_rate * trust);
  const Piece piece = cut.piece();
  const std::int64_t element = pass.weights.compute_type == DType::kF32 ? 4 : 2;
  const auto copy = reinterpret_cast<std::uintptr_t>(pass.weights.compute) +
                    static_cast<std::uintptr_t>(pass.weights.compute == nullptr ? 0 : piece.begin * element);
  const bool wide = at_16_bytes(pass.g + piece.begin) && at_16_bytes(pass.weights.w + piece.begin) &&
                    copy % static_cast<std::uintptr_t>(kFour * element) == 0;
  sweep_block(piece.begin, piece.end, wide, pass);
}

Moments moments(const AdamPass& pass, const Common& common, float* m, float* v) {
  return {common,
          m,
          v,
          static_cast<float>(1.0 - pass.beta_1),
          static_cast<float>(1.0 - pass.beta_2),
          static_cast<float>(pass.epsilon),
          std::log(pass.beta_1),
          std::log(pass.beta_2)};
}

}  // namespace

void adam_update(const Launch& at, const AdamPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                 const UpdatedWeights& weights, float* m, float* v, float* v_max) {
  const Adam update{moments(pass, common_of(state, g, weights, pass.weight_decay), m, v), v_max};
  flat(at, update, n, aligned(g, weights.w, static_cast<char*>(weights.compute), m, v, v_max));
}

void nadam_update(const Launch& at, const AdamPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                  const UpdatedWeights& weights, float* m, float* v) {
  const Nadam update{moments(pass, common_of(state, g, weights, pass.weight_decay), m, v), pass.beta_1, pass.beta_2};
  flat(at, update, n, aligned(g, weights.w, static_cast<char*>(weights.compute), m, v));
}

void adamax_update(const Launch& at, const AdamPass& pass, const UpdateState& state, const float* g, std::int64_t n,
                   const UpdatedWeights& weights, float* m, float* u) {
  const Adamax update{moments(pass, common_of(state, g, weights, pass.weight_decay), m, u),
                      static_cast<float>(pass.beta_2)};
  flat(at, update, n, aligned(g, weights.w, static_cast<char*>(weights.compute), m, u));
}

std::int64_t lamb_workspace(std::int64_t count) { return segments_workspace(count) + 2 * count; }

void lamb_update(const Launch& at, const AdamPass& pass, const UpdateState& state, float* g, std::int64_t n,
                 const Table<Segment>& segments, double* workspace, const UpdatedWeights& weights, float* m, float* v) {
  const LambStep step{moments(pass, common_of(state, nullptr, weights, pass.weight_decay), m, v), g};
  flat(at, step, n, aligned(g, weights.w, m, v));
  if (segments.count <= 0) return;
  double* const squares = workspace + segments_workspace(segments.count);
  squares_of_segments(at, segments, weights.w, workspace, squares);
  squares_of_segments(at, segments, g, workspace, squares + segments.count);
  const auto cut = cut_table(segments);
  const LambMove move{common_of(state, g, weights, 0.0)};
  DPTRAIN_LAUNCH_FLAT(at, lamb_move_kernel, static_cast<unsigned>(segments.count * cut.pieces), kBlock, cut,
                      segments.count, squares, move);
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
