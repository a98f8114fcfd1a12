#include "kernels/cuda/batch_norm.h"

#include "kernels/cuda/columns.h"

// The passes over vectors of channels, and those over all positions that do not add up. Sums: batch_norm_sums.cu.

namespace dptrain::kernels::DPTRAIN_GPU {
namespace {

__device__ inline double positions_of(const BatchNormTotal& total) {
  return total.counted != nullptr ? *total.counted : static_cast<double>(total.known);
}

__device__ inline void write(float* to, std::int64_t c, float value) {
  if (to != nullptr) to[c] = value;
}

/// A normalisation as x scale + offset.
struct Affine {
  float scale, offset;
};
__device__ inline Affine affine_of(float mean, float variance, const float* gamma, const float* beta, float epsilon,
                                   std::int64_t c) {
  const float scale = (gamma == nullptr ? 1.0F : gamma[c]) / sqrtf(variance + epsilon);
  return {scale, (beta == nullptr ? 0.0F : beta[c]) - mean * scale};
}

__global__ void add_messages_kernel(const double* gathered, int replicas, std::int64_t size, double* message) {
  for (std::int64_t i = thread_number(); i < size; i += thread_count()) {
    double sum = gathered[i];
    for (int rank = 1; rank < replicas; ++rank) sum += gathered[rank * size + i];
    message[i] = sum;
  }
}

__global__ void moments_kernel(const double* sum, const double* sum_sq, BatchNormTotal counted, float epsilon,
                               const float* gamma, const float* beta, std::int64_t channels, BatchNormMoments to) {
  const double total = positions_of(counted), share = total > 0 ? 1.0 / total : 0.0;
  for (std::int64_t c = thread_number(); c < channels; c += thread_count()) {
    const double m = sum[c] * share, v = sum_sq[c] * share - m * m;
    const float mean = static_cast<float>(m), variance = v < 0.0 ? 0.0F : static_cast<float>(v);  // NaN passes
    write(to.mean, c, mean);
    write(to.variance, c, variance);
    write(to.inv_std, c, 1.0F / sqrtf(variance + epsilon));
    const Affine affine = affine_of(mean, variance, gamma, beta, epsilon, c);
    write(to.scale, c, affine.scale);
    write(to.offset, c, affine.offset);
    write(to.statistics_mean, c, to.statistics_share * mean);
    const bool corrected = to.unbiased && total > 1.0;
    const float factor = corrected ? static_cast<float>(total) / static_cast<float>(total - 1.0) : 1.0F;
    write(to.statistics_variance, c, to.statistics_share * (variance * factor));
  }
}

__global__ void coefficients_kernel(const float* mean, const float* variance, const float* gamma, const float* beta,
                                    float epsilon, std::int64_t channels, float* scale, float* offset, float* inv_std) {
  for (std::int64_t c = thread_number(); c < channels; c += thread_count()) {
    const Affine affine = affine_of(mean[c], variance[c], gamma, beta, epsilon, c);
    write(scale, c, affine.scale);
    write(offset, c, affine.offset);
    write(inv_std, c, 1.0F / sqrtf(variance[c] + epsilon));
  }
}

__global__ void share_kernel(const float* from, float share, std::int64_t channels, float* to) {
  for (std::int64_t c = thread_number(); c < channels; c += thread_count()) to[c] = share * from[c];
}

// ---- passes over positions: see columns.h

template <class T>
struct Apply {
  const T* x;
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
    for (int k = 0; k < V; ++k) {
      value.v[k] = fmaf(value.v[k], at.scale.v[k], at.offset.v[k]);
      if (relu && value.v[k] <= 0.0F) value.v[k] = 0.0F;
    }
    store<V>(value, y + i);
  }
};

/// dx = a (dy - ((x - mean) b + d)), where a = gamma inv_std, b = inv_std sum_dy_xhat / total, d = sum_dy / total.
template <class T>
struct GradientApply {
  const T *x, *dy, *output;
  const float *mean, *inv_std, *gamma;
  const double *sum_dy, *sum_dy_xhat;
  BatchNormTotal total;
  T* dx;

  template <int V>
  struct Channels {
    Lanes<V> mean, a, b, d;
    __device__ Channels(const GradientApply& p, std::int64_t c) : mean(load<V>(p.mean + c)) {
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
    Lanes<V> gradient = masked<V>(dy, output, i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) {
      const float common = fmaf(value.v[k] - at.mean.v[k], at.b.v[k], at.d.v[k]);
      gradient.v[k] = at.a.v[k] * (gradient.v[k] - common);
    }
    store<V>(gradient, dx + i);
  }
};

template <class T>
struct GradientFrozen {
  const T *dy, *output;
  const float* scale;
  T* dx;

  template <int V>
  struct Channels {
    Lanes<V> scale;
    __device__ Channels(const GradientFrozen& p, std::int64_t c) : scale(load<V>(p.scale + c)) {}
  };
  template <int V>
  __device__ void run(const Channels<V>& at, std::int64_t i) const {
    Lanes<V> gradient = masked<V>(dy, output, i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) gradient.v[k] *= at.scale.v[k];
    store<V>(gradient, dx + i);
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

/// Queues `pass` over all positions and channels. `wide`: all arrays that it reads or writes are aligned to 16 bytes.
template <class T, class Pass>
void over_positions(const Launch& at, const Pass& pass, std::int64_t positions, std::int64_t channels, bool wide) {
  if (positions <= 0 || channels <= 0) return;
  constexpr int kWide = kVector<T>;
  wide = wide && channels % kWide == 0;
  // A thread's vectors of channels are worth a few positions at least.
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
  DPTRAIN_LAUNCH_FLAT(at, moments_kernel, grid_for(at, channels), kBlock, sum, sum_sq, total, epsilon, gamma, beta,
                      channels, moments);
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

void batch_norm_apply(const Launch& at, DType type, const void* x, const float* scale, const float* offset,
                      std::int64_t positions, std::int64_t channels, bool relu, void* y) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Apply<T> pass{static_cast<const T*>(x), scale, offset, relu, static_cast<T*>(y)};
    over_positions<T>(at, pass, positions, channels, aligned(pass.x, scale, offset, pass.y));
  });
}

void batch_norm_gradient_apply(const Launch& at, DType type, const BatchNormGradient& gradient, const float* gamma,
                               const double* sum_dy, const double* sum_dy_xhat, const BatchNormTotal& total,
                               std::int64_t positions, std::int64_t channels, void* dx) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const GradientApply<T> pass{static_cast<const T*>(gradient.x),
                                static_cast<const T*>(gradient.dy),
                                static_cast<const T*>(gradient.output),
                                gradient.mean,
                                gradient.inv_std,
                                gamma,
                                sum_dy,
                                sum_dy_xhat,
                                total,
                                static_cast<T*>(dx)};
    over_positions<T>(at, pass, positions, channels,
                      aligned(pass.x, pass.dy, pass.output, pass.mean, pass.inv_std, pass.dx));
  });
}

void batch_norm_gradient_frozen(const Launch& at, DType type, const void* dy, const void* output, const float* scale,
                                std::int64_t positions, std::int64_t channels, void* dx) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const GradientFrozen<T> pass{static_cast<const T*>(dy), static_cast<const T*>(output), scale, static_cast<T*>(dx)};
    over_positions<T>(at, pass, positions, channels, aligned(pass.dy, pass.output, scale, pass.dx));
  });
}

}  // namespace dptrain::kernels::DPTRAIN_GPU
