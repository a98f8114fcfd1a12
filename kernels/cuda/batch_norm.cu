#include "kernels/cuda/batch_norm.h"

#include "kernels/cuda/batch_norm_parts.h"

// Passes over vectors of channels, and passes over all positions without sums (sums: batch_norm_sums.cu).

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

__device__ inline double positions_of(const BatchNormTotal& total) {
  return total.counted != nullptr ? *total.counted : static_cast<double>(total.known);
}

__global__ void add_messages_kernel(const double* gathered, int replicas, std::int64_t size, double* message) {
  for (std::int64_t i = thread_number(); i < size; i += thread_count()) {
    double sum = gathered[i];
    for (int rank = 1; rank < replicas; ++rank) sum += gathered[rank * size + i];
    message[i] = sum;
  }
}

__global__ void moments_kernel(const double* sum, const double* sum_sq, BatchNormTotal counted, MomentsRule rule,
                               std::int64_t channels) {
  const double total = positions_of(counted);
  for (std::int64_t c = thread_number(); c < channels; c += thread_count())
    write_moments(rule, total, sum[c], sum_sq[c], c);
}

__global__ void coefficients_kernel(const float* mean, const float* variance, const float* gamma, const float* beta,
                                    float epsilon, std::int64_t channels, float* scale, float* offset, float* inv_std) {
  for (std::int64_t c = thread_number(); c < channels; c += thread_count()) {
    const Affine affine = affine_of(mean[c], variance[c], gamma, beta, epsilon, c);
    write_if(scale, c, affine.scale);
    write_if(offset, c, affine.offset);
    write_if(inv_std, c, 1.0F / sqrtf(variance[c] + epsilon));
  }
}

__global__ void share_kernel(const float* from, float share, std::int64_t channels, float* to) {
  for (std::int64_t c = thread_number(); c < channels; c += thread_count()) to[c] = share * from[c];
}

// Passes over positions (columns.h).

template <class T>
struct Apply {
  const T *x, *addend;
  const float *scale, *offset;
  bool relu;
  T* y;

  template <int V>
  struct Channels {
    Lanes<V> scale, offset;
    __device__ Channels(const Apply& p, std::int64_t c) : scale(load<V>(p.scale + c)), offset(load<V>(p.offset + c)) {}
  };
  template <int V>
  __device__ void run(const Channels<V>& at, std::int64_t i) const {
    Lanes<V> value = load<V>(x + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) value.v[k] = fmaf(value.v[k], at.scale.v[k], at.offset.v[k]);
    if (addend != nullptr) {
      const Lanes<V> other = load<V>(addend + i);
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) value.v[k] += other.v[k];
    }
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k)
      if (relu && value.v[k] <= 0.0F) value.v[k] = 0.0F;
    store<V>(value, y + i);
  }
};

/// dx = a (dy - ((x - mean) b + d)), where a = gamma inv_std, b = inv_std sum_dy_xhat / total, d = sum_dy / total.
template <class T, Gate kGate>
struct GradientApply {
  GatedGradient<T, kGate> gradient;
  const T* x;
  const float *mean, *inv_std, *gamma;
  const double *sum_dy, *sum_dy_xhat;
  BatchNormTotal total;
  T* dx;

  template <int V>
  struct Channels {
    GateChannels<kGate, V> gate;
    Lanes<V> mean, a, b, d;
    __device__ Channels(const GradientApply& p, std::int64_t c)
        : gate(p.gradient.scale, p.gradient.offset, c), mean(load<V>(p.mean + c)) {
      const Lanes<V> inv_std = load<V>(p.inv_std + c);
      const float share = 1.0F / static_cast<float>(positions_of(p.total));
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) {
        a.v[k] = p.gamma == nullptr ? inv_std.v[k] : p.gamma[c + k] * inv_std.v[k];
        b.v[k] = inv_std.v[k] * static_cast<float>(p.sum_dy_xhat[c + k]) * share;
        d.v[k] = static_cast<float>(p.sum_dy[c + k]) * share;
      }
    }
  };
  template <int V>
  __device__ void run(const Channels<V>& at, std::int64_t i) const {
    const Lanes<V> value = load<V>(x + i);
    Lanes<V> result = gradient.template load_at<V>(at.gate, value, i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) {
      const float common = fmaf(value.v[k] - at.mean.v[k], at.b.v[k], at.d.v[k]);
      result.v[k] = at.a.v[k] * (result.v[k] - common);
    }
    store<V>(result, dx + i);
  }
};

template <class T, Gate kGate>
struct GradientFrozen {
  GatedGradient<T, kGate> gradient;
  const T* x;
  const float* factor;
  T* dx;

  template <int V>
  struct Channels {
    GateChannels<kGate, V> gate;
    Lanes<V> factor;
    __device__ Channels(const GradientFrozen& p, std::int64_t c)
        : gate(p.gradient.scale, p.gradient.offset, c), factor(load<V>(p.factor + c)) {}
  };
  template <int V>
  __device__ void run(const Channels<V>& at, std::int64_t i) const {
    Lanes<V> value;
    if constexpr (kGate == Gate::kAffine) value = load<V>(x + i);
    Lanes<V> result = gradient.template load_at<V>(at.gate, value, i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) result.v[k] *= at.factor.v[k];
    store<V>(result, dx + i);
  }
};

template <class T, int V, class Pass>
__global__ void positions_kernel(ColumnCover cover, Pass pass) {
  const ColumnPlace place = place_of<V>(cover);
  if (place.column >= cover.channels) return;
  const typename Pass::template Channels<V> at(pass, place.column);
  for (std::int64_t position = place.first; position < place.end; position += place.step)
    pass.template run<V>(at, position * cover.channels + place.column);
}

/// Queues `pass` over all positions and channels. `wide`: all its arrays are aligned to 16 bytes.
template <class T, class Pass>
void over_positions(const Launch& at, const Pass& pass, std::int64_t positions, std::int64_t channels, bool wide) {
  if (positions <= 0 || channels <= 0) return;
  constexpr int kWide = kVector<T>;
  wide = wide && channels % kWide == 0;
  // Loading a thread's vectors of channels pays off only for several positions.
  const ColumnCover cover =
      cover_columns(positions, channels, wide ? kWide : 1, 4, std::int64_t{at.multiprocessors} * 16);
  if (wide)
    DPTRAIN_LAUNCH_FLAT(at, (positions_kernel<T, kWide, Pass>), cover.blocks(), kBlock, cover, pass);
  else
    DPTRAIN_LAUNCH_FLAT(at, (positions_kernel<T, 1, Pass>), cover.blocks(), kBlock, cover, pass);
}

}  // namespace

void batch_norm_add_messages(const Launch& at, const double* gathered, int replicas, std::int64_t channels,
                             double* message) {
  const std::int64_t size = batch_norm_message(channels);
  DPTRAIN_LAUNCH_FLAT(at, add_messages_kernel, grid_for(at, size), kBlock, gathered, replicas, size, message);
}

void batch_norm_moments(const Launch& at, const double* sum, const double* sum_sq, const BatchNormTotal& total,
                        float epsilon, const float* gamma, const float* beta, std::int64_t channels,
                        const BatchNormMoments& moments) {
  if (channels <= 0) return;
  DPTRAIN_LAUNCH_FLAT(at, moments_kernel, grid_for(at, channels), kBlock, sum, sum_sq, total,
                      MomentsRule{epsilon, gamma, beta, moments}, channels);
}

void batch_norm_coefficients(const Launch& at, const float* mean, const float* variance, const float* gamma,
                             const float* beta, float epsilon, std::int64_t channels, float* scale, float* offset,
                             float* inv_std) {
  if (channels <= 0) return;
  DPTRAIN_LAUNCH_FLAT(at, coefficients_kernel, grid_for(at, channels), kBlock, mean, variance, gamma, beta, epsilon,
                      channels, scale, offset, inv_std);
}

void batch_norm_share(const Launch& at, const float* from, float share, std::int64_t channels, float* to) {
  if (channels <= 0) return;
  DPTRAIN_LAUNCH_FLAT(at, share_kernel, grid_for(at, channels), kBlock, from, share, channels, to);
}

void batch_norm_apply(const Launch& at, DType type, const void* x, const BatchNormAffine& affine,
                      std::int64_t positions, std::int64_t channels, void* y) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Apply<T> pass{
        static_cast<const T*>(x), static_cast<const T*>(affine.addend), affine.scale, affine.offset, affine.relu,
        static_cast<T*>(y)};
    over_positions<T>(at, pass, positions, channels, aligned(pass.x, pass.addend, pass.scale, pass.offset, pass.y));
  });
}

void batch_norm_gradient_apply(const Launch& at, DType type, const BatchNormGradient& g, const float* gamma,
                               const double* sum_dy, const double* sum_dy_xhat, const BatchNormTotal& total,
                               std::int64_t positions, std::int64_t channels, void* dx) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    with_gate(g, [&](auto gate) {
      const GradientApply<T, gate()> pass{
          GatedGradient<T, gate()>(g), static_cast<const T*>(g.x), g.mean, g.inv_std, gamma, sum_dy, sum_dy_xhat, total,
          static_cast<T*>(dx)};
      over_positions<T>(at, pass, positions, channels,
                        aligned(g.x, g.dy, g.output, g.scale, g.offset, g.mean, g.inv_std, dx));
    });
  });
}

void batch_norm_gradient_frozen(const Launch& at, DType type, const BatchNormGradient& g, const float* factor,
                                std::int64_t positions, std::int64_t channels, void* dx) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    with_gate(g, [&](auto gate) {
      const GradientFrozen<T, gate()> pass{GatedGradient<T, gate()>(g), static_cast<const T*>(g.x), factor,
                                           static_cast<T*>(dx)};
      over_positions<T>(at, pass, positions, channels, aligned(g.x, g.dy, g.output, g.scale, g.offset, factor, dx));
    });
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
