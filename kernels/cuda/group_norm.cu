#include "kernels/cuda/group_norm.h"

#include "kernels/cuda/column_sums.h"
#include "kernels/cuda/columns.h"
#include "kernels/cuda/rows.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// The elements of one group of one row: element i of size() is channel(i) at offset(i).
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
    float centre = 0.0F;
    if (n.centered) {
      float sum = 0.0F;
      for (std::int64_t i = Group::lane(); i < g.count; i += Group::kThreads) sum += to_float(x[g.element(i).offset]);
      centre = Group::sum(sum) * share;
    }
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

/// dx = inv_std (dy gamma - A - xhat B), with A and B the means over the group of dy gamma and dy gamma xhat.
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
    const float a = n.centered ? Group::sum(sum) * share : 0.0F, b = Group::sum(products) * share;
    for (std::int64_t i = Group::lane(); i < g.count; i += Group::kThreads) {
      const GroupPlace::Element e = g.element(i);
      const float xhat = (to_float(x[e.offset]) - centre) * inverse;
      dx[e.offset] = from_float<T>(inverse * (weighed(e) - a - xhat * b));
    }
  }
};

// Groups of few channels: a block processes several adjacent groups of a row, to use full memory accesses.

/// Minimum bytes of one position per thread block; fewer would waste memory bandwidth.
constexpr std::int64_t kTileBytes = 64;
/// Maximum channels per tile, whose sums are in shared memory.
constexpr int kTileChannels = 128;

/// Tiles of adjacent groups of a row.
struct GroupTile {
  std::int64_t width;  ///< channels per group
  std::int64_t tiles;  ///< per row
  int channels;        ///< per tile, a multiple of width and V; the last tile may have fewer
  int columns;         ///< packs of V channels per tile, a power of two
};

/// This thread's place in tile b % tiles of row b / tiles.
template <int V>
struct TilePlace {
  std::int64_t row, channel;  ///< first of V
  std::int64_t start;         ///< offset of these channels in the row's first position
  int lane, lanes, column;
  bool inside;

  __device__ TilePlace(const GroupNorm& n, const GroupTile& t, std::int64_t block) {
    const Split place = split(block, t.tiles);
    const int thread = static_cast<int>(threadIdx.x);
    row = place.quotient;
    lane = thread / t.columns;
    lanes = kBlock / t.columns;
    column = thread % t.columns;
    channel = place.remainder * t.channels + column * V;
    start = row * n.spatial * n.channels + channel;
    inside = channel < n.channels;
  }
};

/// For each of the thread's V channels, the sum over its group and all threads, through shared memory.
template <int V>
__device__ inline Lanes<V> group_sums(const Lanes<V>& mine, const GroupTile& t, const TilePlace<V>& place, float* parts,
                                      float* sums) {
  const int thread = static_cast<int>(threadIdx.x);
  DPTRAIN_UNROLL
  for (int k = 0; k < V; ++k) parts[k * kBlock + thread] = mine.v[k];
  for (int half = place.lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (place.lane < half) {
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) parts[k * kBlock + thread] += parts[k * kBlock + thread + half * t.columns];
    }
  }
  if (place.lane == 0) {
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) sums[place.column * V + k] = parts[k * kBlock + thread];
  }
  __syncthreads();
  Lanes<V> found;
  DPTRAIN_UNROLL
  for (int k = 0; k < V; ++k) {
    const int width = static_cast<int>(t.width), first = (place.column * V + k) / width * width;
    float sum = 0.0F;
    for (int c = first; c < first + width; ++c) sum += sums[c];
    found.v[k] = sum;
  }
  __syncthreads();
  return found;
}

template <class T, int V>
__global__ void group_tile_forward_kernel(const Forward<T> p, const GroupTile t, std::int64_t blocks) {
  __shared__ float parts[kBlock * V];
  __shared__ float sums[kTileChannels];
  const std::int64_t channels = p.n.channels;
  const float share = 1.0F / static_cast<float>(p.n.spatial * t.width);
  for (std::int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const TilePlace<V> place(p.n, t, block);
    const std::int64_t end = place.inside ? p.n.spatial : 0;
    Lanes<V> mean = all<V>(0.0F), squares = all<V>(0.0F);
    for (std::int64_t s = place.lane; s < end; s += place.lanes) {
      const Lanes<V> x = load<V>(p.x + place.start + s * channels);
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) mean.v[k] += x.v[k];
    }
    mean = group_sums<V>(mean, t, place, parts, sums);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) mean.v[k] *= share;
    for (std::int64_t s = place.lane; s < end; s += place.lanes) {
      const Lanes<V> x = load<V>(p.x + place.start + s * channels);
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) squares.v[k] = fmaf(x.v[k] - mean.v[k], x.v[k] - mean.v[k], squares.v[k]);
    }
    squares = group_sums<V>(squares, t, place, parts, sums);
    if (!place.inside) continue;
    Lanes<V> scale, offset;
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) {
      const std::int64_t c = place.channel + k;
      const float inverse = 1.0F / sqrtf(squares.v[k] * share + p.n.epsilon);
      const Split group = split(c, t.width);
      if (p.mean != nullptr && place.lane == 0 && group.remainder == 0) {
        p.mean[place.row * p.n.groups + group.quotient] = mean.v[k];
        p.inv_std[place.row * p.n.groups + group.quotient] = inverse;
      }
      scale.v[k] = p.gamma == nullptr ? inverse : inverse * p.gamma[c];
      offset.v[k] = p.beta == nullptr ? 0.0F : p.beta[c];
    }
    for (std::int64_t s = place.lane; s < end; s += place.lanes) {
      Lanes<V> x = load<V>(p.x + place.start + s * channels);
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) x.v[k] = fmaf(x.v[k] - mean.v[k], scale.v[k], offset.v[k]);
      store<V>(x, p.y + place.start + s * channels);
    }
  }
}

template <class T, int V>
__global__ void group_tile_backward_kernel(const BackwardData<T> p, const GroupTile t, std::int64_t blocks) {
  __shared__ float parts[kBlock * V];
  __shared__ float sums[kTileChannels];
  const std::int64_t channels = p.n.channels;
  const float share = 1.0F / static_cast<float>(p.n.spatial * t.width);
  for (std::int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const TilePlace<V> place(p.n, t, block);
    const std::int64_t end = place.inside ? p.n.spatial : 0;
    Lanes<V> mean = all<V>(0.0F), inverse = mean, weight = mean, sum = mean, products = mean;
    DPTRAIN_UNROLL
    for (int k = 0; place.inside && k < V; ++k) {
      const std::int64_t c = place.channel + k, group = place.row * p.n.groups + split(c, t.width).quotient;
      mean.v[k] = p.mean[group];
      inverse.v[k] = p.inv_std[group];
      weight.v[k] = p.gamma == nullptr ? 1.0F : p.gamma[c];
    }
    for (std::int64_t s = place.lane; s < end; s += place.lanes) {
      const Lanes<V> x = load<V>(p.x + place.start + s * channels), g = load<V>(p.dy + place.start + s * channels);
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) {
        const float d = g.v[k] * weight.v[k];
        sum.v[k] += d;
        products.v[k] = fmaf(d, (x.v[k] - mean.v[k]) * inverse.v[k], products.v[k]);
      }
    }
    sum = group_sums<V>(sum, t, place, parts, sums);
    products = group_sums<V>(products, t, place, parts, sums);
    for (std::int64_t s = place.lane; s < end; s += place.lanes) {
      const Lanes<V> x = load<V>(p.x + place.start + s * channels);
      Lanes<V> g = load<V>(p.dy + place.start + s * channels);
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) {
        const float xhat = (x.v[k] - mean.v[k]) * inverse.v[k];
        g.v[k] = inverse.v[k] * (g.v[k] * weight.v[k] - sum.v[k] * share - xhat * (products.v[k] * share));
      }
      store<V>(g, p.dx + place.start + s * channels);
    }
  }
}

/// The tile for narrow groups. No columns if a group fills memory accesses, or its width and V have no common multiple.
GroupTile tile_of(const GroupNorm& n, int v, std::int64_t element) {
  GroupTile t{.width = n.channels / n.groups, .tiles = 0, .channels = 0, .columns = 0};
  if (n.spatial == 1 || n.groups == 1 || t.width * element >= kTileBytes || n.channels % v != 0) return t;
  int columns = 1;
  while (columns * v % t.width != 0 || columns * v * element < kTileBytes) {
    columns *= 2;
    if (columns * v > kTileChannels) return t;
  }
  t.columns = columns;
  t.channels = columns * v;
  t.tiles = (n.channels + t.channels - 1) / t.channels;
  return t;
}

// The gradients of gamma and beta in two stages, as the sums of batch normalization.

constexpr std::int64_t kMaxBlocks = 528, kPositionsPerThread = 8;

ColumnCover cover_weights(const GroupNorm& n, std::int64_t rows) {
  return cover_columns(rows * n.spatial, n.channels, 1, kPositionsPerThread, kMaxBlocks);
}

/// Adds the lanes of a block's columns with a tree.
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
    const bool wide = norm.channels % kVector<T> == 0 && aligned(x, y);
    const GroupTile tile = tile_of(norm, wide ? kVector<T> : 1, sizeof(T));
    if (const std::int64_t blocks = rows * tile.tiles; blocks > 0) {
      if (wide)
        DPTRAIN_LAUNCH(at, (group_tile_forward_kernel<T, kVector<T>>), grid_for(at, blocks * kBlock), kBlock, pass,
                       tile, blocks);
      else
        DPTRAIN_LAUNCH(at, (group_tile_forward_kernel<T, 1>), grid_for(at, blocks * kBlock), kBlock, pass, tile,
                       blocks);
      return;
    }
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
    const bool wide = norm.channels % kVector<T> == 0 && aligned(pass.x, pass.dy, pass.dx);
    const GroupTile tile = tile_of(norm, wide ? kVector<T> : 1, sizeof(T));
    if (const std::int64_t blocks = rows * tile.tiles; blocks > 0) {
      if (wide)
        DPTRAIN_LAUNCH(at, (group_tile_backward_kernel<T, kVector<T>>), grid_for(at, blocks * kBlock), kBlock, pass,
                       tile, blocks);
      else
        DPTRAIN_LAUNCH(at, (group_tile_backward_kernel<T, 1>), grid_for(at, blocks * kBlock), kBlock, pass, tile,
                       blocks);
      return;
    }
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

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
