#include "kernels/cuda/elementwise.h"

#include <stdexcept>
#include <string>

#include "kernels/cuda/map.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/words.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

struct Constant {
  float value;
  __device__ float operator()() const { return value; }
};
struct Same {
  __device__ float operator()(float x) const { return x; }
};
struct SumOfTwo {
  __device__ float operator()(float x, float y) const { return x + y; }
};
struct Scale {
  float factor;
  __device__ float operator()(float x) const { return x * factor; }
};
template <class Word>
__global__ void copy_kernel(std::int64_t words, const Word* x, Word* y) {
  for (std::int64_t i = thread_number(); i < words; i += thread_count()) y[i] = x[i];
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
__device__ inline std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

/// Mixes the word with its position, counted from 1 in steps of the golden ratio.
__device__ inline std::uint64_t word_hash(float word, std::int64_t position) {
  return mixed(static_cast<std::uint64_t>(position + 1) * 0x9E3779B97F4A7C15U ^ number::cast_bits<std::uint32_t>(word));
}

/// The sum over the block for thread 0, zero for other threads.
__device__ inline std::uint64_t sum_of_block(std::uint64_t value) {
  __shared__ std::uint64_t sums[kBlock];
  sums[threadIdx.x] = value;
  for (unsigned half = kBlock / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  return threadIdx.x == 0 ? sums[0] : 0;
}

template <int V>
__global__ void hash_words_kernel(const float* words, std::int64_t n, std::uint64_t* partials) {
  std::uint64_t sum = 0;
  const std::int64_t whole = n / V;
  for (std::int64_t i = thread_number(); i < whole; i += thread_count()) {
    const Lanes<V> some = load<V>(words + i * V);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) sum += word_hash(some.v[k], i * V + k);
  }
  for (std::int64_t i = whole * V + thread_number(); i < n; i += thread_count()) sum += word_hash(words[i], i);
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

/// Runs in one block.
__global__ void hash_partials_kernel(const std::uint64_t* partials, int count, std::int64_t n, std::uint64_t* result) {
  std::uint64_t sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kBlock) sum += partials[i];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) *result = mixed(sum ^ static_cast<std::uint64_t>(n));
}

struct LargerBits {
  __device__ unsigned operator()(unsigned a, unsigned b) const { return a > b ? a : b; }
};

/// The bits of numbers without sign are ordered as the numbers are, with NaN above infinity.
template <class T>
__global__ void largest_difference_kernel(const T* x, const T* y, std::int64_t n, unsigned* largest) {
  unsigned difference = 0, value = 0;
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) {
    const float a = to_float(x[i]);
    difference = LargerBits{}(difference, __float_as_uint(fabsf(a - to_float(y[i]))));
    value = LargerBits{}(value, __float_as_uint(fabsf(a)));
  }
  difference = block_reduce(difference, LargerBits{});
  value = block_reduce(value, LargerBits{});
  if (threadIdx.x != 0) return;
  atomicMax(largest, difference);
  atomicMax(largest + 1, value);
}

/// In the order of SumTree(ranks): pairs, then sums of two, of four, ...
template <int V>
__device__ Lanes<V> sum_of_ranks(const RankArrays& arrays, std::int64_t first) {
  Lanes<V> sums[kMaxRanks];
  DPTRAIN_UNROLL
  for (int rank = 0; rank < kMaxRanks; ++rank)
    if (rank < arrays.ranks) sums[rank] = load<V>(arrays.array[rank] + first);
  DPTRAIN_UNROLL
  for (int size = 1; size < kMaxRanks; size *= 2) {
    DPTRAIN_UNROLL
    for (int rank = 0; rank + size < kMaxRanks; rank += 2 * size) {
      if (rank + size >= arrays.ranks) continue;
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) sums[rank].v[k] += sums[rank + size].v[k];
    }
  }
  return sums[0];
}

template <int V>
__global__ void sum_ranks_kernel(const RankArrays arrays, std::int64_t begin, std::int64_t end) {
  const std::int64_t whole = (end - begin) / V;
  for (std::int64_t i = thread_number(); i < whole; i += thread_count()) {
    const Lanes<V> sum = sum_of_ranks<V>(arrays, begin + i * V);
    for (int rank = 0; rank < arrays.ranks; ++rank) store<V>(sum, arrays.array[rank] + begin + i * V);
  }
  for (std::int64_t i = begin + whole * V + thread_number(); i < end; i += thread_count()) {
    const Lanes<1> sum = sum_of_ranks<1>(arrays, i);
    for (int rank = 0; rank < arrays.ranks; ++rank) store<1>(sum, arrays.array[rank] + i);
  }
}

/// __nanosleep sleeps for at most a millisecond, and only about as long as requested.
__global__ void delay_kernel([[maybe_unused]] std::int64_t microseconds) {
#if defined(__CUDA_ARCH__)
  for (std::int64_t i = 0; i < microseconds; i += 500) __nanosleep(500'000U);
#endif
}

}  // namespace

void fill(const Launch& at, float value, float* y, std::int64_t n) { map(at, n, Constant{value}, y); }

void copy(const Launch& at, DType type, const void* x, void* y, std::int64_t n) {
  if (n <= 0 || x == y) return;
  with_word(type, {n}, {x, y}, [&](auto zero) {
    using Word = decltype(zero);
    const std::int64_t words = in_words<Word>(type, n);
    const auto kernel = copy_kernel<Word>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, words), kBlock, words, static_cast<const Word*>(x),
                        static_cast<Word*>(y));
  });
}

void accumulate(const Launch& at, DType type, const void* x, void* y, std::int64_t n) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    map(at, n, SumOfTwo{}, static_cast<T*>(y), static_cast<const T*>(y), static_cast<const T*>(x));
  });
}

void scale(const Launch& at, DType type, float factor, const void* x, void* y, std::int64_t n) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    map(at, n, Scale{factor}, static_cast<T*>(y), static_cast<const T*>(x));
  });
}

void cast_from_float(const Launch& at, const float* x, DType type, void* y, std::int64_t n) {
  dispatch(type, [&](auto tag) { map(at, n, Same{}, static_cast<typename decltype(tag)::type*>(y), x); });
}

void cast_to_float(const Launch& at, DType type, const void* x, float* y, std::int64_t n) {
  dispatch(type, [&](auto tag) { map(at, n, Same{}, y, static_cast<const typename decltype(tag)::type*>(x)); });
}

void hash(const Launch& at, const float* x, std::int64_t n, std::uint64_t* partials, std::uint64_t* result) {
  const bool wide = aligned(x);
  const unsigned grid = std::min<unsigned>(grid_for(at, n, wide ? 4 : 1), kHashPartials);
  const auto kernel = wide ? hash_words_kernel<4> : hash_words_kernel<1>;
  DPTRAIN_LAUNCH(at, kernel, grid, kBlock, x, n, partials);
  DPTRAIN_LAUNCH(at, hash_partials_kernel, 1, kBlock, partials, static_cast<int>(grid), n, result);
}

void largest_difference(const Launch& at, DType type, const void* x, const void* y, std::int64_t n, float* largest) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto kernel = largest_difference_kernel<T>;
    DPTRAIN_LAUNCH(at, kernel, grid_for(at, n), kBlock, static_cast<const T*>(x), static_cast<const T*>(y), n,
                   reinterpret_cast<unsigned*>(largest));
  });
}

void sum_ranks(const Launch& at, const RankArrays& arrays, std::int64_t begin, std::int64_t end) {
  if (arrays.ranks < 1 || arrays.ranks > kMaxRanks)
    throw std::invalid_argument("sum_ranks: " + std::to_string(arrays.ranks) + " ranks, expected 1 to " +
                                std::to_string(kMaxRanks));
  if (end <= begin || arrays.ranks == 1) return;
  bool wide = true;
  for (int rank = 0; rank < arrays.ranks; ++rank) wide = wide && aligned(arrays.array[rank] + begin);
  const auto kernel = wide ? sum_ranks_kernel<4> : sum_ranks_kernel<1>;
  DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, end - begin, wide ? 4 : 1), kBlock, arrays, begin, end);
}

void delay(const Launch& at, std::int64_t microseconds) { DPTRAIN_LAUNCH_FLAT(at, delay_kernel, 1, 1, microseconds); }

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
