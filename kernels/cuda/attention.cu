#include "kernels/cuda/attention.h"

#include "kernels/cuda/dropout_draws.h"
#include "kernels/cuda/lanes.h"
#include "kernels/cuda/reduce.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// Threads per block, and the maximum number of queries and of keys per tile: one lane per key.
constexpr int kAttentionThreads = 128, kAttentionTile = 32;

__device__ inline float below_all() { return -INFINITY; }

template <class T>
struct Attention {
  AttentionShape s;
  const T *q, *k, *v;
  std::int64_t q_stride, k_stride, v_stride;
  const float *score_weights, *factor_of_scale;
  const std::uint8_t *queries, *values, *keys;
  Keep keep;
  bool drops;
  const StepState* state;
  int tile;

  __device__ bool is_visible(std::int64_t row, std::int64_t i, std::int64_t j) const {
    return (!s.causal || j <= i) && (queries == nullptr || queries[row * s.queries + i] != 0) &&
           (values == nullptr || values[row * s.keys + j] != 0) && (keys == nullptr || keys[row * s.keys + j] != 0);
  }
  __device__ float scale() const { return s.scale * (factor_of_scale == nullptr ? 1.0F : *factor_of_scale); }
  __device__ float score_weight(int d) const { return score_weights[s.one_weight ? 0 : d]; }
  __device__ bool is_fully_masked(std::int64_t row, std::int64_t i) const {
    for (std::int64_t j = 0; j < s.keys; ++j)
      if (is_visible(row, i, j)) return false;
    return true;
  }
};

/// Rows of a tile in shared memory, padded by one float so that adjacent rows start in different banks.
struct SharedRows {
  float* data;
  int dim;
  __device__ float& at(int row, int column) const { return data[row * (dim + 1) + column]; }
  __device__ void clear(int rows) const {
    for (int e = static_cast<int>(threadIdx.x); e < rows * (dim + 1); e += static_cast<int>(blockDim.x)) data[e] = 0.0F;
  }
  /// Loads rows [first, first + count) of a head, and zeros up to `rows`.
  template <class T>
  __device__ void load(const T* from, std::int64_t stride, std::int64_t first, int count, int rows) const {
    for (int e = static_cast<int>(threadIdx.x); e < rows * dim; e += static_cast<int>(blockDim.x)) {
      const int r = e / dim, c = e % dim;
      at(r, c) = r < count ? to_float(from[(first + r) * stride + c]) : 0.0F;
    }
  }
  __device__ float product(int row, const SharedRows& other, int other_row) const {
    float sum = 0.0F;
    for (int c = 0; c < dim; ++c) sum = fmaf(at(row, c), other.at(other_row, c), sum);
    return sum;
  }
};
/// Writes dropout's factors of queries [first, first + count) and keys [key, key + keys); a draw is of four keys.
template <class T>
__device__ void draw_factors(const Attention<T>& a, std::int64_t row, std::int64_t head, std::int64_t first, int count,
                             std::int64_t key, int keys, const SharedRows& factors) {
  if (!a.drops) return;
  const std::int64_t step = a.state->step;
  const int before = static_cast<int>(key % 4), groups = (before + keys + 3) / 4;
  for (int e = static_cast<int>(threadIdx.x); e < count * groups; e += static_cast<int>(blockDim.x)) {
    const int i = e / groups, group = e % groups;
    const PhiloxBlock block =
        draw(a.keep, row, (head * a.s.queries + first + i) * ((a.s.keys + 3) / 4) + key / 4 + group, step);
    DPTRAIN_UNROLL
    for (int word = 0; word < 4; ++word) {
      const int j = group * 4 + word - before;
      if (j >= 0 && j < keys) factors.at(i, j) = drop(a.keep, block.word[word], 1.0F);
    }
  }
}
template <class T>
__device__ float score_of(const Attention<T>& a, float scale, const SharedRows& q, int i, const SharedRows& k, int j) {
  if (!a.s.additive) return scale * q.product(i, k, j);
  float sum = 0.0F;
  for (int d = 0; d < q.dim; ++d) sum = fmaf(a.score_weight(d), tanhf(scale * (q.at(i, d) + k.at(j, d))), sum);
  return sum;
}
/// Contributions of a score's gradient to element d of its query, without the factor `scale`, and to the weight w_d.
struct ScoreSlope {
  float query, weight;
};
template <class T>
__device__ ScoreSlope slope_of(const Attention<T>& a, float scale, float gradient, const SharedRows& q, int i,
                               const SharedRows& k, int j, int d) {
  if (!a.s.additive) return {gradient * k.at(j, d), 0.0F};
  const float value = tanhf(scale * (q.at(i, d) + k.at(j, d)));
  return {gradient * a.score_weight(d) * (1.0F - value * value), gradient * value};
}

__host__ __device__ constexpr std::int64_t shared_rows(std::int64_t rows, std::int64_t dim) { return rows * (dim + 1); }

/// Allocates parts of dynamic shared memory.
struct SharedCut {
  float* next;
  int tile;
  __device__ SharedRows rows(std::int64_t dim) {
    const SharedRows all{next, static_cast<int>(dim)};
    next += shared_rows(tile, dim);
    return all;
  }
  __device__ float* numbers() { return numbers(tile); }
  __device__ float* numbers(std::int64_t n) {
    float* const all = next;
    next += n;
    return all;
  }
};

__device__ inline int clipped(std::int64_t all, std::int64_t first, int most) {
  return all - first < most ? static_cast<int>(all - first) : most;
}

template <class T>
__global__ void __launch_bounds__(kAttentionThreads, 9)
    attention_forward_kernel(const Attention<T> a, std::int64_t tiles, T* y, float* saved_tensors) {
  DPTRAIN_DYNAMIC_SHARED(float, memory);
  SharedCut cut{memory, a.tile};
  const AttentionShape& s = a.s;
  const SharedRows q = cut.rows(s.key_dim), k = cut.rows(s.key_dim), v = cut.rows(s.value_dim),
                   sums = cut.rows(s.value_dim), scores = cut.rows(a.tile),
                   factors = a.drops ? cut.rows(a.tile) : scores;
  float *const most = cut.numbers(), *const sum = cut.numbers(), *const lower = cut.numbers(),
               *const fully_masked = cut.numbers();

  const Split place = split(blockIdx.x, tiles), line = split(place.quotient, s.heads);
  const std::int64_t row = line.quotient, head = line.remainder, first = place.remainder * a.tile;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const float scale = a.scale();
  const int count = clipped(s.queries, first, a.tile);
  q.load(a.q + row * s.queries * a.q_stride + head * s.key_dim, a.q_stride, first, count, a.tile);
  sums.clear(a.tile);
  for (int i = thread; i < a.tile; i += threads) {
    most[i] = below_all();
    sum[i] = 0.0F;
    fully_masked[i] = i < count && a.is_fully_masked(row, first + i) ? 1.0F : 0.0F;
  }
  __syncthreads();
  bool any_fully_masked = false;
  for (int i = 0; i < count; ++i) any_fully_masked = any_fully_masked || fully_masked[i] != 0.0F;

  const int lane = thread % static_cast<int>(warpSize), warp = thread / static_cast<int>(warpSize);
  const int warps = threads / static_cast<int>(warpSize);
  for (std::int64_t key = 0; key < s.keys; key += a.tile) {
    if (s.causal && !any_fully_masked && key >= first + count) break;
    const int keys = clipped(s.keys, key, a.tile);
    k.load(a.k + row * s.keys * a.k_stride + head * s.key_dim, a.k_stride, key, keys, a.tile);
    v.load(a.v + row * s.keys * a.v_stride + head * s.value_dim, a.v_stride, key, keys, a.tile);
    draw_factors(a, row, head, first, count, key, keys, factors);
    __syncthreads();
    for (int e = thread; e < a.tile * a.tile; e += threads) {
      const int i = e / a.tile, j = e % a.tile;
      float score = below_all();
      if (i < count && j < keys) {
        if (fully_masked[i] != 0.0F)
          score = 0.0F;
        else if (a.is_visible(row, first + i, key + j))
          score = score_of(a, scale, q, i, k, j);
      }
      scores.at(i, j) = score;
    }
    __syncthreads();
    for (int i = warp; i < a.tile; i += warps) {
      const float score = lane < a.tile ? scores.at(i, lane) : below_all();
      const float before = most[i], largest = warp_max(score), top = before > largest ? before : largest;
      const float weight = top == below_all() || score == below_all() ? 0.0F : expf(score - top);
      const float total = warp_sum(weight);
      if (lane < a.tile)
        scores.at(i, lane) = i < count && lane < keys ? weight * (a.drops ? factors.at(i, lane) : 1.0F) : 0.0F;
      __syncwarp();  // all lanes have read most[i]; shuffles do not order memory
      if (lane == 0) {
        const float factor = before == top ? 1.0F : expf(before - top);
        lower[i] = factor;
        sum[i] = sum[i] * factor + total;
        most[i] = top;
      }
    }
    __syncthreads();
    for (int e = thread; e < count * static_cast<int>(s.value_dim); e += threads) {
      const int i = e / static_cast<int>(s.value_dim), c = e % static_cast<int>(s.value_dim);
      float value = sums.at(i, c) * lower[i];
      for (int j = 0; j < keys; ++j) value = fmaf(scores.at(i, j), v.at(j, c), value);
      sums.at(i, c) = value;
    }
    __syncthreads();
  }
  for (int e = thread; e < count * static_cast<int>(s.value_dim); e += threads) {
    const int i = e / static_cast<int>(s.value_dim), c = e % static_cast<int>(s.value_dim);
    y[((row * s.queries + first + i) * s.heads + head) * s.value_dim + c] = from_float<T>(sums.at(i, c) / sum[i]);
  }
  if (saved_tensors == nullptr) return;
  for (int i = thread; i < count; i += threads) {
    float* const to = saved_tensors + ((row * s.heads + head) * s.queries + first + i) * 2;
    to[0] = most[i];
    to[1] = (fully_masked[i] != 0.0F ? -1.0F : 1.0F) / sum[i];
  }
}

/// The softmax weight of a key with dropout by `factor`, from the saved values, and the gradient of its score.
struct Weight {
  float dropped, gradient;
};
template <class T>
__device__ inline Weight weigh(const Attention<T>& a, std::int64_t row, std::int64_t head, std::int64_t i,
                               std::int64_t j, float factor, float score, float slope, const float* saved_tensors,
                               float delta) {
  const float* const of = saved_tensors + ((row * a.s.heads + head) * a.s.queries + i) * 2;
  const float share = of[1];
  const bool fully_masked = share < 0.0F;
  const float weight = fully_masked ? -share : a.is_visible(row, i, j) ? expf(score - of[0]) * share : 0.0F;
  const bool counts = !fully_masked || a.s.fully_masked_scores_count;
  return {weight * factor, counts ? weight * (slope * factor - delta) : 0.0F};
}

/// Whether any of these queries of a head (over all rows) has no visible key.
__device__ inline bool any_fully_masked(const AttentionShape& s, const float* saved_tensors, std::int64_t head,
                                        std::int64_t first, int count) {
  for (int i = 0; i < count; ++i)
    if (saved_tensors[(head * s.queries + first + i) * 2 + 1] < 0.0F) return true;
  return false;
}

/// Gradients of one block of queries; writes `delta` for the kernel of keys.
template <class T>
__global__ void attention_queries_kernel(const Attention<T> a, std::int64_t tiles, const T* y, const T* dy,
                                         const float* saved_tensors, float* delta, T* dq, std::int64_t dq_stride) {
  DPTRAIN_DYNAMIC_SHARED(float, memory);
  SharedCut cut{memory, a.tile};
  const AttentionShape& s = a.s;
  const SharedRows q = cut.rows(s.key_dim), k = cut.rows(s.key_dim), v = cut.rows(s.value_dim),
                   slopes = cut.rows(s.value_dim), sums = cut.rows(s.key_dim), scores = cut.rows(a.tile);
  float* const dots = cut.numbers();
  const Split place = split(blockIdx.x, tiles), line = split(place.quotient, s.heads);
  const std::int64_t row = line.quotient, head = line.remainder, first = place.remainder * a.tile;
  const std::int64_t width = s.heads * s.value_dim, of_head = row * s.queries * width + head * s.value_dim;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const float scale = a.scale();
  const int count = clipped(s.queries, first, a.tile);
  q.load(a.q + row * s.queries * a.q_stride + head * s.key_dim, a.q_stride, first, count, a.tile);
  slopes.load(dy + of_head, width, first, count, a.tile);
  sums.clear(a.tile);
  __syncthreads();
  const bool all_keys = any_fully_masked(s, saved_tensors, row * s.heads + head, first, count);
  for (int i = thread; i < count; i += threads) {
    float sum = 0.0F;
    for (int c = 0; c < slopes.dim; ++c)
      sum = fmaf(slopes.at(i, c), to_float(y[of_head + (first + i) * width + c]), sum);
    dots[i] = sum;
    delta[(row * s.heads + head) * s.queries + first + i] = sum;
  }
  __syncthreads();
  for (std::int64_t key = 0; key < s.keys; key += a.tile) {
    if (s.causal && !all_keys && key >= first + count) break;
    const int keys = clipped(s.keys, key, a.tile);
    k.load(a.k + row * s.keys * a.k_stride + head * s.key_dim, a.k_stride, key, keys, a.tile);
    v.load(a.v + row * s.keys * a.v_stride + head * s.value_dim, a.v_stride, key, keys, a.tile);
    draw_factors(a, row, head, first, count, key, keys, scores);  // weigh() overwrites them
    __syncthreads();
    for (int e = thread; e < count * a.tile; e += threads) {
      const int i = e / a.tile, j = e % a.tile;
      if (j < keys)
        scores.at(i, j) = weigh(a, row, head, first + i, key + j, a.drops ? scores.at(i, j) : 1.0F,
                                score_of(a, scale, q, i, k, j), slopes.product(i, v, j), saved_tensors, dots[i])
                              .gradient;
    }
    __syncthreads();
    for (int e = thread; e < count * q.dim; e += threads) {
      const int i = e / q.dim, c = e % q.dim;
      float value = sums.at(i, c);
      for (int j = 0; j < keys; ++j) value += slope_of(a, scale, scores.at(i, j), q, i, k, j, c).query;
      sums.at(i, c) = value;
    }
    __syncthreads();
  }
  if (dq == nullptr) return;
  T* const to = dq + row * s.queries * dq_stride + head * s.key_dim;
  for (int e = thread; e < count * q.dim; e += threads) {
    const int i = e / q.dim, c = e % q.dim;
    to[(first + i) * dq_stride + c] = from_float<T>(sums.at(i, c) * scale);
  }
}

/// Gradients of one block of keys and values.
template <class T>
__global__ void attention_keys_kernel(const Attention<T> a, std::int64_t tiles, const T* dy, const float* saved_tensors,
                                      const float* delta, T* dk, std::int64_t dk_stride, T* dv, std::int64_t dv_stride,
                                      float* of_scores, std::int64_t score_numbers) {
  DPTRAIN_DYNAMIC_SHARED(float, memory);
  SharedCut cut{memory, a.tile};
  const AttentionShape& s = a.s;
  const SharedRows q = cut.rows(s.key_dim), k = cut.rows(s.key_dim), v = cut.rows(s.value_dim),
                   slopes = cut.rows(s.value_dim), of_keys = cut.rows(s.key_dim), of_values = cut.rows(s.value_dim),
                   weights = cut.rows(a.tile), gradients = cut.rows(a.tile);
  float *const of_weights = cut.numbers(s.key_dim), *const of_scale = cut.numbers(s.key_dim);
  const Split place = split(blockIdx.x, tiles), line = split(place.quotient, s.heads);
  const std::int64_t row = line.quotient, head = line.remainder, key = place.remainder * a.tile;
  const std::int64_t width = s.heads * s.value_dim, of_head = row * s.queries * width + head * s.value_dim;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const float scale = a.scale();
  const int keys = clipped(s.keys, key, a.tile);
  k.load(a.k + row * s.keys * a.k_stride + head * s.key_dim, a.k_stride, key, keys, a.tile);
  v.load(a.v + row * s.keys * a.v_stride + head * s.value_dim, a.v_stride, key, keys, a.tile);
  of_keys.clear(a.tile);
  of_values.clear(a.tile);
  for (int d = thread; d < q.dim; d += threads) of_weights[d] = of_scale[d] = 0.0F;
  __syncthreads();  // the loop may skip all tiles of queries, and their barriers
  for (std::int64_t first = 0; first < s.queries; first += a.tile) {
    const int count = clipped(s.queries, first, a.tile);
    if (s.causal && key >= first + count && !any_fully_masked(s, saved_tensors, row * s.heads + head, first, count))
      continue;
    q.load(a.q + row * s.queries * a.q_stride + head * s.key_dim, a.q_stride, first, count, a.tile);
    slopes.load(dy + of_head, width, first, count, a.tile);
    draw_factors(a, row, head, first, count, key, keys, weights);
    __syncthreads();
    for (int e = thread; e < count * a.tile; e += threads) {
      const int i = e / a.tile, j = e % a.tile;
      if (j >= keys) continue;
      const Weight weight =
          weigh(a, row, head, first + i, key + j, a.drops ? weights.at(i, j) : 1.0F, score_of(a, scale, q, i, k, j),
                slopes.product(i, v, j), saved_tensors, delta[(row * s.heads + head) * s.queries + first + i]);
      weights.at(i, j) = weight.dropped;
      gradients.at(i, j) = weight.gradient;
    }
    __syncthreads();
    for (int e = thread; e < keys * k.dim; e += threads) {
      const int j = e / k.dim, c = e % k.dim;
      float value = of_keys.at(j, c);
      for (int i = 0; i < count; ++i) {
        // For products, the derivative of a score by its key is the query.
        value +=
            s.additive ? slope_of(a, scale, gradients.at(i, j), q, i, k, j, c).query : gradients.at(i, j) * q.at(i, c);
      }
      of_keys.at(j, c) = value;
    }
    for (int e = thread; e < keys * v.dim; e += threads) {
      const int j = e / v.dim, c = e % v.dim;
      float value = of_values.at(j, c);
      for (int i = 0; i < count; ++i) value = fmaf(weights.at(i, j), slopes.at(i, c), value);
      of_values.at(j, c) = value;
    }
    for (int d = thread; of_scores != nullptr && s.additive && d < q.dim; d += threads)
      for (int e = 0; e < count * keys; ++e) {
        const int i = e / keys, j = e % keys;
        const ScoreSlope slope = slope_of(a, scale, gradients.at(i, j), q, i, k, j, d);
        of_weights[d] += slope.weight;
        of_scale[d] = fmaf(slope.query, q.at(i, d) + k.at(j, d), of_scale[d]);
      }
    __syncthreads();
  }
  for (int d = thread; of_scores != nullptr && !s.additive && d < q.dim; d += threads)
    for (int j = 0; j < keys; ++j) of_scale[d] = fmaf(k.at(j, d), of_keys.at(j, d), of_scale[d]);
  __syncthreads();
  if (of_scores != nullptr) {
    float* const to = of_scores + static_cast<std::int64_t>(blockIdx.x) * score_numbers;
    for (int d = thread; s.additive && d < q.dim; d += threads) to[d] = of_weights[d];
    if (thread == 0) {
      float sum = 0.0F;
      for (int d = 0; d < q.dim; ++d) sum += of_scale[d];
      to[score_numbers - 1] = sum;
    }
  }
  for (int e = thread; dk != nullptr && e < keys * k.dim; e += threads) {
    const int j = e / k.dim, c = e % k.dim;
    dk[row * s.keys * dk_stride + head * s.key_dim + (key + j) * dk_stride + c] =
        from_float<T>(of_keys.at(j, c) * scale);
  }
  for (int e = thread; dv != nullptr && e < keys * v.dim; e += threads) {
    const int j = e / v.dim, c = e % v.dim;
    dv[row * s.keys * dv_stride + head * s.value_dim + (key + j) * dv_stride + c] = from_float<T>(of_values.at(j, c));
  }
}

// Bytes of dynamic shared memory of each kernel. The one for keys needs the most, so it determines the tile.

std::int64_t forward_bytes(const AttentionShape& s, int tile, bool drops) {
  return 4 * (2 * shared_rows(tile, s.key_dim) + 2 * shared_rows(tile, s.value_dim) +
              (drops ? 2 : 1) * shared_rows(tile, tile) + 4 * tile);
}
std::int64_t queries_bytes(const AttentionShape& s, int tile) {
  return 4 * (3 * shared_rows(tile, s.key_dim) + 2 * shared_rows(tile, s.value_dim) + shared_rows(tile, tile) + tile);
}
std::int64_t keys_bytes(const AttentionShape& s, int tile) {
  return 4 * (3 * shared_rows(tile, s.key_dim) + 3 * shared_rows(tile, s.value_dim) + 2 * shared_rows(tile, tile) +
              2 * s.key_dim);
}

/// 0: no tile fits.
int tile_of(const AttentionShape& s) {
  int tile = kAttentionTile;
  while (tile > 0 && keys_bytes(s, tile) > kMaxSharedBytes) tile /= 2;
  return tile;
}

template <class T>
Attention<T> attention_of(const AttentionInputs& of) {
  return {.s = of.shape,
          .q = static_cast<const T*>(of.q.data),
          .k = static_cast<const T*>(of.k.data),
          .v = static_cast<const T*>(of.v.data),
          .q_stride = of.q.stride,
          .k_stride = of.k.stride,
          .v_stride = of.v.stride,
          .score_weights = of.score_weights,
          .factor_of_scale = of.scale,
          .queries = of.query_mask,
          .values = of.value_mask,
          .keys = of.key_mask,
          .keep = keep_of(of.dropout),
          .drops = of.dropout.rate > 0,
          .state = of.state,
          .tile = tile_of(of.shape)};
}

}  // namespace

std::int64_t attention_saved_floats(const AttentionShape& shape, std::int64_t rows) {
  return rows * shape.heads * shape.queries * 2;
}

std::int64_t attention_parts(const AttentionShape& shape, std::int64_t rows) {
  const int tile = tile_of(shape);
  return rows * shape.heads * ((shape.keys + tile - 1) / tile);
}

bool attention_fits(const AttentionShape& shape) { return tile_of(shape) > 0; }

void attention_forward(const Launch& at, DType type, const AttentionInputs& of, void* y, float* saved_tensors) {
  if (of.rows <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Attention<T> a = attention_of<T>(of);
    const std::int64_t tiles = (of.shape.queries + a.tile - 1) / a.tile;
    DPTRAIN_LAUNCH_SHARED(at, attention_forward_kernel<T>, static_cast<unsigned>(of.rows * of.shape.heads * tiles),
                          kAttentionThreads, static_cast<std::size_t>(forward_bytes(of.shape, a.tile, a.drops)), a,
                          tiles, static_cast<T*>(y), saved_tensors);
  });
}

void attention_backward(const Launch& at, DType type, const AttentionInputs& of, const void* y, const void* dy,
                        const float* saved_tensors, float* delta, const AttentionGradients& to) {
  if (of.rows <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Attention<T> a = attention_of<T>(of);
    const std::int64_t heads = of.rows * of.shape.heads, tiles = (of.shape.queries + a.tile - 1) / a.tile,
                       key_tiles = (of.shape.keys + a.tile - 1) / a.tile;
    DPTRAIN_LAUNCH_SHARED(at, attention_queries_kernel<T>, static_cast<unsigned>(heads * tiles), kAttentionThreads,
                          static_cast<std::size_t>(queries_bytes(of.shape, a.tile)), a, tiles, static_cast<const T*>(y),
                          static_cast<const T*>(dy), saved_tensors, delta, static_cast<T*>(to.dq.data), to.dq.stride);
    DPTRAIN_LAUNCH_SHARED(at, attention_keys_kernel<T>, static_cast<unsigned>(heads * key_tiles), kAttentionThreads,
                          static_cast<std::size_t>(keys_bytes(of.shape, a.tile)), a, key_tiles,
                          static_cast<const T*>(dy), saved_tensors, delta, static_cast<T*>(to.dk.data), to.dk.stride,
                          static_cast<T*>(to.dv.data), to.dv.stride, to.of_scores, score_gradients(of.shape));
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
