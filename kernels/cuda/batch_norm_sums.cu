#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/columns.h"

// The sums of batch normalisation in two stages: thread blocks add up pieces of the positions, a second launch adds the
// pieces up in order.

namespace dptrain::kernels::DPTRAIN_GPU {
namespace {

/// The most thread blocks of the first stage: four for every multiprocessor of an H200. Positions for each thread.
constexpr std::int64_t kMostSumBlocks = 528, kSumPositionsPerThread = 8;
/// The second stage: channels times pieces that a thread block works on side by side.
constexpr int kFinishChannels = 16, kFinishLanes = kBlock / kFinishChannels;

ColumnCover cover_sums(std::int64_t positions, std::int64_t channels, int v) {
  return cover_columns(positions, channels, v, kSumPositionsPerThread, kMostSumBlocks);
}

// What is added up: run gives V factors u and v of each position; the sums are of u and of u v. Both are rounded to
// float element by element, which no cut of the positions changes.

template <class T>
struct Values {
  const T* x;
  template <int V>
  struct Channels {
    __device__ Channels(const Values&, std::int64_t) {}
  };
  template <int V>
  __device__ void run(const Channels<V>&, std::int64_t i, Lanes<V>& u, Lanes<V>& v) const {
    u = v = load<V>(x + i);
  }
};

template <class T>
struct Gradients {
  const T *x, *dy, *output;
  const float* mean;
  template <int V>
  struct Channels {
    Lanes<V> mean;
    __device__ Channels(const Gradients& p, std::int64_t c) : mean(load<V>(p.mean + c)) {}
  };
  template <int V>
  __device__ void run(const Channels<V>& at, std::int64_t i, Lanes<V>& u, Lanes<V>& v) const {
    u = masked<V>(dy, output, i);
    v = load<V>(x + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) v.v[k] -= at.mean.v[k];
  }
};

/// Adds the lanes of a block's columns up, lane 0 first with the middle one, and so on: sums[c + k] of the columns.
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
__global__ void batch_norm_sums_kernel(ColumnCover cover, Pass pass, double* workspace) {
  __shared__ double parts[kBlock * V];
  const ColumnPlace place = place_of<V>(cover);
  const bool inside = place.column < cover.channels;
  double sum[V] = {}, product[V] = {};
  if (inside) {
    const typename Pass::template Channels<V> at(pass, place.column);
    for (std::int64_t position = place.first; position < place.end; position += place.step) {
      Lanes<V> u, v;
      pass.template run<V>(at, position * cover.channels + place.column, u, v);
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) {
        sum[k] += static_cast<double>(u.v[k]);
        product[k] = fma(static_cast<double>(u.v[k]), static_cast<double>(v.v[k]), product[k]);
      }
    }
  }
  double* const sums = workspace + split(blockIdx.x, cover.tiles).quotient * 2 * cover.channels + place.column;
  add_lanes<V>(sum, cover.tile, inside, parts, sums);
  add_lanes<V>(product, cover.tile, inside, parts, sums + cover.channels);
}

/// Where the second stage writes.
struct Finish {
  BatchNormSums sums;
  const float* inv_std;  ///< factor of the products; null: 1
  float *gamma_gradient, *beta_gradient;
};

/// Block b works on kFinishChannels channels: of the sums where b is even, of the products where it is odd.
__global__ void finish_kernel(const double* workspace, std::int64_t pieces, std::int64_t positions,
                              std::int64_t channels, Finish to) {
  __shared__ double parts[kBlock];
  const int thread = static_cast<int>(threadIdx.x), lane = thread / kFinishChannels;
  const bool product = blockIdx.x % 2 == 1;
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x / 2) * kFinishChannels + thread % kFinishChannels;
  double sum[1] = {};
  if (c < channels) {
    const double* from = workspace + (product ? channels : 0) + c;
    for (std::int64_t piece = lane; piece < pieces; piece += kFinishLanes) sum[0] += from[piece * 2 * channels];
  }
  double total[1] = {};
  add_lanes<1>(sum, kFinishChannels, c < channels, parts, total);
  if (blockIdx.x == 0 && thread == 0 && to.sums.count != nullptr) *to.sums.count = static_cast<double>(positions);
  if (lane != 0 || c >= channels) return;
  if (product && to.inv_std != nullptr) total[0] *= static_cast<double>(to.inv_std[c]);
  (product ? to.sums.product : to.sums.sum)[c] = total[0];
  float* const rounded = product ? to.gamma_gradient : to.beta_gradient;
  if (rounded != nullptr) rounded[c] = static_cast<float>(total[0]);
}

template <class T, class Pass>
void sum_positions(const Launch& at, const Pass& pass, std::int64_t positions, std::int64_t channels, bool wide,
                   double* workspace, const Finish& finish) {
  if (channels <= 0) return;
  constexpr int kWide = kVector<T>;
  wide = wide && channels % kWide == 0;
  const ColumnCover cover = cover_sums(positions, channels, wide ? kWide : 1);
  if (positions > 0) {
    if (wide)
      DPTRAIN_LAUNCH(at, (batch_norm_sums_kernel<T, kWide, Pass>), cover.blocks(), kBlock, cover, pass, workspace);
    else
      DPTRAIN_LAUNCH(at, (batch_norm_sums_kernel<T, 1, Pass>), cover.blocks(), kBlock, cover, pass, workspace);
  }
  const auto blocks = static_cast<unsigned>((channels + kFinishChannels - 1) / kFinishChannels * 2);
  DPTRAIN_LAUNCH(at, finish_kernel, blocks, kBlock, workspace, cover.pieces(), positions, channels, finish);
}

}  // namespace

std::int64_t batch_norm_workspace(DType type, std::int64_t positions, std::int64_t channels) {
  const int wide = 16 / static_cast<int>(size_of(type));
  return 2 * channels *
         std::max(cover_sums(positions, channels, 1).most_pieces, cover_sums(positions, channels, wide).most_pieces);
}

void batch_norm_sums(const Launch& at, DType type, const void* x, std::int64_t positions, std::int64_t channels,
                     double* workspace, const BatchNormSums& sums) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Values<T> pass{static_cast<const T*>(x)};
    sum_positions<T>(at, pass, positions, channels, aligned(pass.x), workspace, {sums, nullptr, nullptr, nullptr});
  });
}

void batch_norm_gradient_sums(const Launch& at, DType type, const BatchNormGradient& gradient, std::int64_t positions,
                              std::int64_t channels, double* workspace, const BatchNormSums& sums,
                              float* gamma_gradient, float* beta_gradient) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Gradients<T> pass{static_cast<const T*>(gradient.x), static_cast<const T*>(gradient.dy),
                            static_cast<const T*>(gradient.output), gradient.mean};
    const Finish finish{sums, gradient.inv_std, gamma_gradient, beta_gradient};
    sum_positions<T>(at, pass, positions, channels, aligned(pass.x, pass.dy, pass.output, pass.mean), workspace,
                     finish);
  });
}

}  // namespace dptrain::kernels::DPTRAIN_GPU
