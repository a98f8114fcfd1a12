#include "kernels/cuda/prelu.h"

#include <stdexcept>

#include "kernels/cuda/column_sums.h"
#include "kernels/cuda/elementwise.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// Index of alpha for element `index` of the batch.
__device__ inline std::int64_t alpha_of(const PRelu& p, std::int64_t index) {
  std::int64_t rest = index, at = 0;
  DPTRAIN_UNROLL
  for (int a = PRelu::kMaxAxes - 1; a >= 0; --a) {
    if (a >= p.axes) continue;
    const Split s = split(rest, p.extent[a]);
    at += s.remainder * p.stride[a];
    rest = s.quotient;
  }
  return at;
}

struct PreluValue {
  __device__ float operator()(float x, float, float alpha) const { return x > 0.0F ? x : alpha * x; }
};
struct Slope {
  __device__ float operator()(float x, float dy, float alpha) const {
    return x > 0.0F ? dy : x < 0.0F ? alpha * dy : 0.0F;
  }
};

/// y = f(x, g, alpha), V adjacent elements at a time.
template <class T, int V, class F>
__global__ void prelu_kernel(const PRelu p, const F f, const T* x, const T* g, const float* alpha, std::int64_t packs,
                             T* y) {
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    const std::int64_t at = alpha_of(p, i * V);
    const Lanes<V> value = load<V>(x + i * V), gradient = load<V>(g + i * V);
    const Lanes<V> slope = V > 1 && p.stride[p.axes - 1] != 0 ? load<V>(alpha + at) : all<V>(alpha[at]);
    Lanes<V> result;
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) result.v[k] = f(value.v[k], gradient.v[k], slope.v[k]);
    store<V>(result, y + i * V);
  }
}

template <class F>
void run(const Launch& at, DType type, const PRelu& p, const F& f, const void* x, const void* g, const float* alpha,
         std::int64_t rows, void* y) {
  const std::int64_t n = rows * p.elements;
  if (n <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kWide = kVector<T>;
    const bool spread = p.stride[p.axes - 1] == 0;
    const bool wide = p.extent[p.axes - 1] % kWide == 0 && aligned(x, g, y) && (spread || aligned(alpha));
    const auto kernel = wide ? prelu_kernel<T, kWide, F> : prelu_kernel<T, 1, F>;
    const std::int64_t packs = n / (wide ? kWide : 1);
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, packs), kBlock, p, f, static_cast<const T*>(x),
                        static_cast<const T*>(g), alpha, packs, static_cast<T*>(y));
  });
}

/// `tile` sums of alpha's gradient per block, whose threads share their terms. Each piece has a row of partial sums.
struct Cover {
  std::int64_t terms;  ///< per sum
  std::int64_t piece;  ///< terms per piece; the last may be shorter
  std::int64_t pieces;
  std::int64_t most_pieces;  ///< upper bound that does not decrease with rows
  std::int64_t tiles;
  int tile;
};

Cover cover(const PRelu& p, std::int64_t rows) {
  constexpr std::int64_t kPerThread = 16, kBlocks = 1024;
  Cover c{.terms = rows * (p.elements / p.alphas), .piece = 0, .pieces = 0, .most_pieces = 0, .tiles = 0, .tile = 1};
  if (p.stride[p.axes - 1] != 0) c.tile = power_of_two(p.extent[p.axes - 1], 32);
  c.tiles = (p.alphas + c.tile - 1) / c.tile;
  const std::int64_t most = std::max<std::int64_t>(1, kBlocks / c.tiles), least = kPerThread * (kBlock / c.tile);
  c.piece = std::max(least, (c.terms + most - 1) / most);
  c.pieces = (c.terms + c.piece - 1) / c.piece;
  c.most_pieces = std::min(most, (c.terms + least - 1) / least);
  return c;
}

/// sums[piece, a] = sum of alpha a's terms in the piece. Threads add terms at a constant step, then a tree adds these.
template <class T>
__global__ void prelu_sums_kernel(const PRelu p, const Cover c, const T* x, const T* dy, float* sums) {
  __shared__ float partial[kBlock];
  const int lanes = kBlock / c.tile, thread = static_cast<int>(threadIdx.x);
  const int column = thread % c.tile, lane = thread / c.tile;
  const Split block = split(blockIdx.x, c.tiles);
  const std::int64_t alpha = block.remainder * c.tile + column;
  const std::int64_t begin = block.quotient * c.piece, end = begin + c.piece < c.terms ? begin + c.piece : c.terms;
  float total = 0.0F;
  for (std::int64_t term = begin + lane; alpha < p.alphas && term < end; term += lanes) {
    std::int64_t rest_own = alpha, rest_shared = term, at = 0, step = 1;
    DPTRAIN_UNROLL
    for (int a = PRelu::kMaxAxes - 1; a >= 0; --a) {
      if (a >= p.axes) continue;
      std::int64_t& rest = p.stride[a] != 0 ? rest_own : rest_shared;
      const Split s = split(rest, p.extent[a]);
      at += s.remainder * step;
      step *= p.extent[a];
      rest = s.quotient;
    }
    at += rest_shared * p.elements;
    const float value = to_float(x[at]);
    if (value < 0.0F) total += value * to_float(dy[at]);
  }
  partial[thread] = total;
  for (int half = lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) partial[thread] += partial[thread + half * c.tile];
  }
  if (lane == 0 && alpha < p.alphas) sums[block.quotient * p.alphas + alpha] = partial[thread];
}

}  // namespace

PRelu::PRelu(const std::vector<std::int64_t>& sample, const std::vector<std::int64_t>& alpha) {
  if (sample.size() != alpha.size())
    throw std::invalid_argument("prelu: the axes of alpha differ from those of the sample");
  bool shared_before = false;
  for (std::size_t d = 0; d < sample.size(); ++d) {
    if (alpha[d] != sample[d] && alpha[d] != 1)
      throw std::invalid_argument("prelu: an extent of alpha is neither the sample's nor 1");
    elements *= sample[d];
    if (sample[d] == 1) continue;
    const bool shared = alpha[d] == 1;
    if (axes > 0 && shared == shared_before) {
      extent[axes - 1] *= sample[d];
    } else {
      if (axes == kMaxAxes) throw std::invalid_argument("prelu: more than 6 axes");
      stride[axes] = shared ? 0 : 1;
      extent[axes++] = sample[d];
    }
    shared_before = shared;
  }
  if (axes == 0) stride[axes] = 1, extent[axes++] = 1;
  for (int a = axes - 1; a >= 0; --a) {
    if (stride[a] == 0) continue;
    stride[a] = alphas;
    alphas *= extent[a];
  }
}

void prelu_forward(const Launch& at, DType type, const PRelu& prelu, const void* x, const float* alpha,
                   std::int64_t rows, void* y) {
  run(at, type, prelu, PreluValue{}, x, x, alpha, rows, y);
}

void prelu_input_gradient(const Launch& at, DType type, const PRelu& prelu, const void* x, const void* dy,
                          const float* alpha, std::int64_t rows, void* dx) {
  run(at, type, prelu, Slope{}, x, dy, alpha, rows, dx);
}

std::int64_t prelu_workspace(const PRelu& prelu, std::int64_t rows) {
  const std::int64_t pieces = cover(prelu, rows).most_pieces;
  return pieces > 1 ? pieces * prelu.alphas : 0;
}

void prelu_alpha_gradient(const Launch& at, DType type, const PRelu& prelu, const void* x, const void* dy,
                          std::int64_t rows, float* workspace, float* gradient) {
  if (rows <= 0) return fill(at, 0.0F, gradient, prelu.alphas);
  const Cover c = cover(prelu, rows);
  float* const sums = c.pieces > 1 ? workspace : gradient;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto kernel = prelu_sums_kernel<T>;
    DPTRAIN_LAUNCH(at, kernel, static_cast<unsigned>(c.pieces * c.tiles), kBlock, prelu, c, static_cast<const T*>(x),
                   static_cast<const T*>(dy), sums);
  });
  if (c.pieces > 1)
    column_sums<float, float>(at, c.pieces, prelu.alphas, c.pieces, 1.0F, 8, workspace, nullptr, gradient);
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
