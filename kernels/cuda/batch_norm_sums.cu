#include "kernels/cuda/batch_norm_parts.h"

// Sums of batch normalization: thread blocks sum pieces of the positions; a second launch adds the pieces in order.

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// Channels per thread. Sums, products and factors then take 64 registers, so four blocks fit on a multiprocessor.
constexpr int kSumChannels = 4;
/// Maximum number of blocks of the first stage (four per multiprocessor of an H200), and positions per thread.
constexpr std::int64_t kMaxSumBlocks = 528, kSumPositionsPerThread = 8;
/// Second stage: channels per block, columns (sums, then products), and pieces processed in parallel. Four doubles are
/// one memory access; more lanes would be idle.
constexpr int kFinishChannels = 4, kFinishColumns = 2 * kFinishChannels, kFinishLanes = kBlock / kFinishColumns;

ColumnCover cover_sums(std::int64_t positions, std::int64_t channels, int v) {
  return cover_columns(positions, channels, v, kSumPositionsPerThread, kMaxSumBlocks);
}

// Factors u and v of the sums of u and u v. Both are rounded to float per element, independent of the split. A thread
// reads the Inputs of kAhead positions before it adds the first, so that several loads are in flight.

template <class T>
struct Values {
  static constexpr int kAhead = 4;
  const T* x;
  template <int V>
  struct Channels {
    __device__ Channels(const Values&, std::int64_t) {}
  };
  template <int V>
  struct Inputs {
    Lanes<V> x;
  };
  template <int V>
  __device__ Inputs<V> read(std::int64_t i) const {
    return {load<V>(x + i)};
  }
  template <int V>
  __device__ void run(const Channels<V>&, const Inputs<V>& in, std::int64_t, Lanes<V>& u, Lanes<V>& v) const {
    u = v = in.x;
  }
};

template <class T, Gate kGate>
struct Gradients {
  static constexpr int kAhead = kGate == Gate::kAffine ? 1 : 2;  // more take more than 64 registers
  GatedGradient<T, kGate> gradient;
  const T* x;
  const float* mean;
  T* masked;  // may be null
  template <int V>
  struct Channels {
    GateChannels<kGate, V> gate;
    Lanes<V> mean;
    __device__ Channels(const Gradients& p, std::int64_t c)
        : gate(p.gradient.scale, p.gradient.offset, c), mean(load<V>(p.mean + c)) {}
  };
  template <int V>
  struct Inputs {
    Lanes<V> x;
    typename GatedGradient<T, kGate>::template Inputs<V> gradient;
  };
  template <int V>
  __device__ Inputs<V> read(std::int64_t i) const {
    return {load<V>(x + i), gradient.template read<V>(i)};
  }
  template <int V>
  __device__ void run(const Channels<V>& at, const Inputs<V>& in, std::int64_t i, Lanes<V>& u, Lanes<V>& v) const {
    v = in.x;
    u = gradient.template gated<V>(at.gate, v, in.gradient);
    if (masked != nullptr) store<V>(u, masked + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) v.v[k] -= at.mean.v[k];
  }
};

/// Adds the lanes of a block's columns with a tree; writes sums[c + k].
template <int V>
__device__ inline void add_lanes(const double (&mine)[V], int tile, bool inside, double* parts, double* sums) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread / tile;
  DPTRAIN_UNROLL
  for (int k = 0; k < V; ++k) parts[k * kBlock + thread] = mine[k];
  for (int half = kBlock / tile / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) {
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) parts[k * kBlock + thread] += parts[k * kBlock + thread + half * tile];
    }
  }
  if (lane == 0 && inside) {
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) sums[k] = parts[k * kBlock + thread];
  }
  __syncthreads();
}

/// workspace[piece, 0, c] = sum of u, workspace[piece, 1, c] = sum of u v.
template <class T, int V, class Pass>
__global__ void __launch_bounds__(kBlock, V == kSumChannels && Pass::kAhead > 1 ? 4 : 0)
    batch_norm_sums_kernel(ColumnCover cover, Pass pass, double* workspace) {
  __shared__ double parts[kBlock * V];
  const ColumnPlace place = place_of<V>(cover);
  const bool inside = place.column < cover.channels;
  double sum[V] = {}, product[V] = {};
  if (inside) {
    using Inputs = typename Pass::template Inputs<V>;
    const typename Pass::template Channels<V> at(pass, place.column);
    const auto add = [&](const Inputs& in, std::int64_t i) {
      Lanes<V> u, v;
      pass.template run<V>(at, in, i, u, v);
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) {
        sum[k] += static_cast<double>(u.v[k]);
        product[k] = fma(static_cast<double>(u.v[k]), static_cast<double>(v.v[k]), product[k]);
      }
    };
    const auto index = [&](std::int64_t position) { return position * cover.channels + place.column; };
    std::int64_t position = place.first;
    if constexpr (Pass::kAhead > 1) {
      for (; position + (Pass::kAhead - 1) * place.step < place.end; position += Pass::kAhead * place.step) {
        Inputs in[Pass::kAhead];
        DPTRAIN_UNROLL
        for (int n = 0; n < Pass::kAhead; ++n) in[n] = pass.template read<V>(index(position + n * place.step));
        DPTRAIN_UNROLL
        for (int n = 0; n < Pass::kAhead; ++n) add(in[n], index(position + n * place.step));
      }
    }
    for (; position < place.end; position += place.step) add(pass.template read<V>(index(position)), index(position));
  }
  double* const sums = workspace + split(blockIdx.x, cover.tiles).quotient * 2 * cover.channels + place.column;
  add_lanes<V>(sum, cover.tile, inside, parts, sums);
  add_lanes<V>(product, cover.tile, inside, parts, sums + cover.channels);
}

/// Outputs of the second stage.
struct Finish {
  BatchNormSums sums;                                         ///< pointers may be null
  const float* inv_std = nullptr;                             ///< factor of the products; null: 1
  float *gamma_gradient = nullptr, *beta_gradient = nullptr;  ///< may be null
  bool makes_moments = false;                                 ///< by `rule`
  MomentsRule rule{};
};

/// Block b processes channels [b * kFinishChannels, (b + 1) * kFinishChannels).
__global__ void finish_kernel(const double* workspace, std::int64_t pieces, std::int64_t positions,
                              std::int64_t channels, Finish to) {
  __shared__ double parts[kBlock];
  __shared__ double totals[kFinishColumns];
  const int thread = static_cast<int>(threadIdx.x), lane = thread / kFinishColumns, column = thread % kFinishColumns;
  const bool product = column >= kFinishChannels;
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kFinishChannels + column % kFinishChannels;
  double sum[1] = {};
  if (c < channels) {
    const double* from = workspace + (product ? channels : 0) + c;
    for (std::int64_t piece = lane; piece < pieces; piece += kFinishLanes) sum[0] += from[piece * 2 * channels];
  }
  add_lanes<1>(sum, kFinishColumns, true, parts, totals + column);
  if (blockIdx.x == 0 && thread == 0 && to.sums.count != nullptr) *to.sums.count = static_cast<double>(positions);
  if (lane != 0 || c >= channels) return;
  double total = totals[column];
  if (product && to.inv_std != nullptr) total *= static_cast<double>(to.inv_std[c]);
  double* const doubles = product ? to.sums.product : to.sums.sum;
  if (doubles != nullptr) doubles[c] = total;
  write_if(product ? to.gamma_gradient : to.beta_gradient, c, static_cast<float>(total));
  if (to.makes_moments && !product)
    write_moments(to.rule, static_cast<double>(positions), total, totals[column + kFinishChannels], c);
}

template <class T, class Pass>
void sum_positions(const Launch& at, const Pass& pass, std::int64_t positions, std::int64_t channels, bool wide,
                   double* workspace, const Finish& finish) {
  if (channels <= 0) return;
  constexpr int kWide = kSumChannels;
  wide = wide && channels % kWide == 0;
  const ColumnCover cover = cover_sums(positions, channels, wide ? kWide : 1);
  if (positions > 0) {
    if (wide)
      DPTRAIN_LAUNCH(at, (batch_norm_sums_kernel<T, kWide, Pass>), cover.blocks(), kBlock, cover, pass, workspace);
    else
      DPTRAIN_LAUNCH(at, (batch_norm_sums_kernel<T, 1, Pass>), cover.blocks(), kBlock, cover, pass, workspace);
  }
  const auto blocks = static_cast<unsigned>((channels + kFinishChannels - 1) / kFinishChannels);
  DPTRAIN_LAUNCH(at, finish_kernel, blocks, kBlock, workspace, cover.pieces(), positions, channels, finish);
}

void add_values(const Launch& at, DType type, const void* x, std::int64_t positions, std::int64_t channels,
                double* workspace, const Finish& finish) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    sum_positions<T>(at, Values<T>{static_cast<const T*>(x)}, positions, channels, aligned(x), workspace, finish);
  });
}

}  // namespace

std::int64_t batch_norm_workspace(DType, std::int64_t positions, std::int64_t channels) {
  return 2 * channels *
         std::max(cover_sums(positions, channels, 1).most_pieces,
                  cover_sums(positions, channels, kSumChannels).most_pieces);
}

void batch_norm_sums(const Launch& at, DType type, const void* x, std::int64_t positions, std::int64_t channels,
                     double* workspace, const BatchNormSums& sums) {
  add_values(at, type, x, positions, channels, workspace, {.sums = sums});
}

void batch_norm_statistics(const Launch& at, DType type, const void* x, std::int64_t positions, float epsilon,
                           const float* gamma, const float* beta, std::int64_t channels, double* workspace,
                           const BatchNormMoments& moments) {
  add_values(at, type, x, positions, channels, workspace,
             {.sums = {}, .makes_moments = true, .rule = {epsilon, gamma, beta, moments}});
}

void batch_norm_gradient_sums(const Launch& at, DType type, const BatchNormGradient& g, std::int64_t positions,
                              std::int64_t channels, double* workspace, const BatchNormSums& sums,
                              float* gamma_gradient, float* beta_gradient, void* masked) {
  const Finish finish{
      .sums = sums, .inv_std = g.inv_std, .gamma_gradient = gamma_gradient, .beta_gradient = beta_gradient};
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    with_gate(g, [&](auto gate) {
      const Gradients<T, gate()> pass{GatedGradient<T, gate()>(g), static_cast<const T*>(g.x), g.mean,
                                      static_cast<T*>(masked)};
      sum_positions<T>(at, pass, positions, channels, aligned(g.x, g.dy, g.output, g.scale, g.offset, g.mean, masked),
                       workspace, finish);
    });
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
