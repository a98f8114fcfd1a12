#include "kernels/cuda/group_norm.h"

#include "kernels/cuda/column_sums.h"
#include "kernels/cuda/columns.h"
#include "kernels/cuda/rows.h"

namespace dptrain::kernels::DPTRAIN_GPU {
namespace {

/// Where the elements of one group of one row lie: number i of size() is channel(i) at offset(i).
struct GroupPlace {
  std::int64_t width, channels, first_channel, start, count;

  /// `index`: row * groups + group.
  __device__ GroupPlace(const GroupNorm& n, std::int64_t index) {
    const Split place = split(index, n.groups);
    width = n.channels / n.groups;
    channels = n.channels;
    first_channel = place.remainder * width;
    start = place.quotient * n.spatial * n.channels + first_channel;
    count = n.spatial * width;
  }
  struct Element {
    std::int64_t offset, channel;
  };
  __device__ Element element(std::int64_t i) const {
    const Split place = split(i, width);
    return {start + place.quotient * channels + place.remainder, first_channel + place.remainder};
  }
};

template <class T>
struct Forward {
  GroupNorm n;
  const T* x;
  const float *gamma, *beta;
  T* y;
  float *mean, *inv_std;

  template <class Group>
  __device__ void run(std::int64_t index) const {
    const GroupPlace g(n, index);
    const float share = 1.0F / static_cast<float>(g.count);
    float sum = 0.0F;
    for (std::int64_t i = Group::lane(); i < g.count; i += Group::kThreads) sum += to_float(x[g.element(i).offset]);
    const float centre = Group::sum(sum) * share;
    float squares = 0.0F;
    for (std::int64_t i = Group::lane(); i < g.count; i += Group::kThreads) {
      const float d = to_float(x[g.element(i).offset]) - centre;
      squares = fmaf(d, d, squares);
    }
    const float inverse = 1.0F / sqrtf(Group::sum(squares) * share + n.epsilon);
    if (mean != nullptr && Group::lane() == 0) {
      mean[index] = centre;
      inv_std[index] = inverse;
    }
    for (std::int64_t i = Group::lane(); i < g.count; i += Group::kThreads) {
      const GroupPlace::Element e = g.element(i);
      const float scale = gamma == nullptr ? inverse : inverse * gamma[e.channel];
      const float offset = beta == nullptr ? 0.0F : beta[e.channel];
      y[e.offset] = from_float<T>(fmaf(to_float(x[e.offset]) - centre, scale, offset));
    }
  }
};

/// With A = mean over the group of dy gamma and B = that of dy gamma xhat: dx = inv_std (dy gamma - A - xhat B).
template <class T>
struct BackwardData {
  GroupNorm n;
  const T *x, *dy;
  const float *gamma, *mean, *inv_std;
  T* dx;

  template <class Group>
  __device__ void run(std::int64_t index) const {
    const GroupPlace g(n, index);
    const float share = 1.0F / static_cast<float>(g.count), centre = mean[index], inverse = inv_std[index];
    const auto weighed = [&](const GroupPlace::Element& e) {
      const float d = to_float(dy[e.offset]);
      return gamma == nullptr ? d : d * gamma[e.channel];
    };
    float sum = 0.0F, products = 0.0F;
    for (std::int64_t i = Group::lane(); i < g.count; i += Group::kThreads) {
      const GroupPlace::Element e = g.element(i);
      const float d = weighed(e);
      sum += d;
      products = fmaf(d, (to_float(x[e.offset]) - centre) * inverse, products);
    }
    const float a = Group::sum(sum) * share, b = Group::sum(products) * share;
    for (std::int64_t i = Group::lane(); i < g.count; i += Group::kThreads) {
      const GroupPlace::Element e = g.element(i);
      const float xhat = (to_float(x[e.offset]) - centre) * inverse;
      dx[e.offset] = from_float<T>(inverse * (weighed(e) - a - xhat * b));
    }
  }
};

// The gradients of gamma and beta in two stages, as batch normalisation's sums.

constexpr std::int64_t kMostBlocks = 528, kPositionsPerThread = 8;

ColumnCover cover_weights(const GroupNorm& n, std::int64_t rows) {
  return cover_columns(rows * n.spatial, n.channels, 1, kPositionsPerThread, kMostBlocks);
}

/// Adds the lanes of a block's columns up, the first half and the second, and so on.
__device__ inline float add_lanes(float mine, int tile, float* parts) {
  const int thread = static_cast<int>(threadIdx.x), lane = thread / tile;
  parts[thread] = mine;
  for (int half = kBlock / tile / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) parts[thread] += parts[thread + half * tile];
  }
  __syncthreads();
  const float sum = parts[thread % tile];
  __syncthreads();
  return sum;
}

/// products[piece, c] = sum of dy xhat, sums[piece, c] = sum of dy.
template <class T>
__global__ void group_norm_weights_kernel(const GroupNorm n, const ColumnCover cover, const T* x, const T* dy,
                                          const float* mean, const float* inv_std, float* products, float* sums) {
  __shared__ float parts[kBlock];
  const ColumnPlace place = place_of<1>(cover);
  const bool inside = place.column < n.channels;
  const std::int64_t group = inside ? split(place.column, n.channels / n.groups).quotient : 0;
  float sum = 0.0F, product = 0.0F;
  for (std::int64_t position = place.first; inside && position < place.end; position += place.step) {
    const std::int64_t statistics = split(position, n.spatial).quotient * n.groups + group;
    const std::int64_t i = position * n.channels + place.column;
    const float d = to_float(dy[i]);
    sum += d;
    product = fmaf(d, (to_float(x[i]) - mean[statistics]) * inv_std[statistics], product);
  }
  const float all_products = add_lanes(product, cover.tile, parts), all_sums = add_lanes(sum, cover.tile, parts);
  if (!inside || static_cast<int>(threadIdx.x) >= cover.tile) return;
  const std::int64_t to = split(blockIdx.x, cover.tiles).quotient * n.channels + place.column;
  products[to] = all_products;
  sums[to] = all_sums;
}

}  // namespace

void group_norm_forward(const Launch& at, DType type, const GroupNorm& norm, const void* x, const float* gamma,
                        const float* beta, std::int64_t rows, void* y, float* mean, float* inv_std) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Forward<T> pass{norm, static_cast<const T*>(x), gamma, beta, static_cast<T*>(y), mean, inv_std};
    over_rows(at, pass, rows * norm.groups, norm.spatial * norm.channels / norm.groups);
  });
}

void group_norm_backward_data(const Launch& at, DType type, const GroupNorm& norm, const GroupNormGradient& gradient,
                              std::int64_t rows, void* dx) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const BackwardData<T> pass{norm,
                               static_cast<const T*>(gradient.x),
                               static_cast<const T*>(gradient.dy),
                               gradient.gamma,
                               gradient.mean,
                               gradient.inv_std,
                               static_cast<T*>(dx)};
    over_rows(at, pass, rows * norm.groups, norm.spatial * norm.channels / norm.groups);
  });
}

std::int64_t group_norm_workspace(DType, const GroupNorm& norm, std::int64_t rows) {
  return 2 * cover_weights(norm, rows).most_pieces * norm.channels;
}

void group_norm_backward_weights(const Launch& at, DType type, const GroupNorm& norm, const GroupNormGradient& gradient,
                                 std::int64_t rows, float* workspace, float* dgamma, float* dbeta) {
  if (rows <= 0) return;
  const ColumnCover cover = cover_weights(norm, rows);
  const std::int64_t pieces = cover.pieces();
  float *const products = workspace, *const sums = workspace + pieces * norm.channels;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto kernel = group_norm_weights_kernel<T>;
    DPTRAIN_LAUNCH(at, kernel, cover.blocks(), kBlock, norm, cover, static_cast<const T*>(gradient.x),
                   static_cast<const T*>(gradient.dy), gradient.mean, gradient.inv_std, products, sums);
  });
  if (dgamma != nullptr)
    column_sums<float, float>(at, pieces, norm.channels, pieces, 1.0F, 8, products, nullptr, dgamma);
  if (dbeta != nullptr) column_sums<float, float>(at, pieces, norm.channels, pieces, 1.0F, 8, sums, nullptr, dbeta);
}

}  // namespace dptrain::kernels::DPTRAIN_GPU
