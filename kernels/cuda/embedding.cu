#include "kernels/cuda/embedding.h"

#include <bit>

#include "kernels/cuda/lanes.h"
#include "kernels/cuda/number.h"
#include "kernels/cuda/reduce.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

template <class T>
__global__ void gather_rows_kernel(const std::int32_t* ids, std::int64_t elements, const T* table,
                                   std::int64_t table_rows, std::int64_t width, T* y) {
  for (std::int64_t i = thread_number(); i < elements; i += thread_count()) {
    const Split at = split(i, width);
    const std::int64_t id = ids[at.quotient];
    const bool known = id >= 0 && id < table_rows;
    y[i] = known ? table[id * width + at.remainder] : from_float<T>(number::cast_bits<float>(0x7FC00000U));
  }
}

__global__ void id_mask_kernel(const std::int32_t* ids, std::int64_t count, std::uint8_t* mask) {
  for (std::int64_t i = thread_number(); i < count; i += thread_count()) mask[i] = ids[i] != 0 ? 1 : 0;
}

// The gradient sorts the places of a batch by id, then sums each run of equal ids. The sort is a stable radix sort: per
// digit of the ids, blocks count their digits, one block turns the counts into places, and blocks move their places.

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;
static_assert(kDigits == kBlock, "a thread per digit");
/// Consecutive places that a warp and a block sort.
constexpr int kWarpPlaces = 256, kSortWarps = kBlock / 32, kBlockPlaces = kSortWarps * kWarpPlaces;

struct alignas(8) SortPlace {
  std::uint32_t id, place;  ///< ids outside the table: table_rows
};

/// One pass of the sort, from `from` (first pass: from the ids) to `to`.
struct SortPass {
  const std::int32_t* ids;
  const SortPlace* from;  ///< null in the first pass
  SortPlace* to;
  std::int64_t count, table_rows;
  std::uint32_t* counts;  ///< [blocks, kDigits]
  int shift;

  __device__ SortPlace read(std::int64_t i) const {
    if (from != nullptr) return from[i];
    const std::int64_t id = ids[i];
    return {static_cast<std::uint32_t>(id >= 0 && id < table_rows ? id : table_rows), static_cast<std::uint32_t>(i)};
  }
  __device__ unsigned digit(const SortPlace& place) const { return place.id >> shift & (kDigits - 1); }
};

__global__ void count_digits_kernel(SortPass pass) {
  __shared__ unsigned counts[kDigits];
  counts[threadIdx.x] = 0;
  __syncthreads();
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kBlockPlaces;
  for (int k = static_cast<int>(threadIdx.x); k < kBlockPlaces && begin + k < pass.count; k += kBlock)
    atomicAdd(&counts[pass.digit(pass.read(begin + k))], 1U);
  __syncthreads();
  pass.counts[blockIdx.x * kDigits + threadIdx.x] = counts[threadIdx.x];
}

/// One block, a thread per digit: replaces each count by the new position of the first place that it counts.
__global__ void first_places_kernel(std::uint32_t* counts, std::int64_t blocks) {
  __shared__ unsigned totals[kDigits];
  const int digit = static_cast<int>(threadIdx.x);
  unsigned total = 0;
  for (std::int64_t b = 0; b < blocks; ++b) total += counts[b * kDigits + digit];
  totals[digit] = total;
  __syncthreads();
  unsigned next = 0;
  for (int d = 0; d < digit; ++d) next += totals[d];
  for (std::int64_t b = 0; b < blocks; ++b) {
    const unsigned mine = counts[b * kDigits + digit];
    counts[b * kDigits + digit] = next;
    next += mine;
  }
}

/// Lanes of the warp with the same digit.
__device__ inline unsigned lanes_with(unsigned digit) {
  unsigned same = kFullMask;
  for (int bit = 0; bit < kDigitBits; ++bit) {
    const bool set = (digit >> bit & 1U) != 0;
    const unsigned votes = __ballot_sync(kFullMask, set);
    same &= set ? votes : ~votes;
  }
  return same;
}

/// Moves each place after those with smaller digits, and after those with its digit in earlier blocks, warps and lanes.
__global__ void move_places_kernel(SortPass pass) {
  __shared__ unsigned next[kSortWarps][kDigits];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  for (int w = 0; w < kSortWarps; ++w) next[w][thread] = 0;
  __syncthreads();
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kBlockPlaces + warp * kWarpPlaces + lane;
  for (int k = 0; k < kWarpPlaces && begin + k < pass.count; k += 32)
    atomicAdd(&next[warp][pass.digit(pass.read(begin + k))], 1U);
  __syncthreads();
  unsigned first = pass.counts[blockIdx.x * kDigits + thread];
  for (int w = 0; w < kSortWarps; ++w) {
    const unsigned mine = next[w][thread];
    next[w][thread] = first;
    first += mine;
  }
  __syncthreads();
  for (int k = 0; k < kWarpPlaces; k += 32) {
    const bool inside = begin + k < pass.count;
    const SortPlace place = inside ? pass.read(begin + k) : SortPlace{};
    const unsigned digit = pass.digit(place);
    const unsigned same = lanes_with(digit) & __ballot_sync(kFullMask, inside);
    const unsigned before = same & ((1U << lane) - 1);
    if (inside) pass.to[next[warp][digit] + __popc(before)] = place;
    __syncwarp();  // all lanes have read `next`
    if (inside && before == 0) next[warp][digit] += __popc(same);
    __syncwarp();
  }
}

/// One thread per sorted place and column. The first place of an id sums the gradients of all its places, in order.
template <class T>
__global__ void sum_runs_kernel(const SortPlace* sorted, std::int64_t count, std::int64_t width, const T* dy,
                                std::int64_t table_rows, float* gradient) {
  constexpr int kAhead = 8;
  for (std::int64_t k = thread_number(); k < count * width; k += thread_count()) {
    const Split at = split(k, width);
    const std::int64_t first = at.quotient;
    const std::uint32_t id = sorted[first].id;
    if (id >= table_rows || (first > 0 && sorted[first - 1].id == id)) continue;
    float sum = 0.0F;
    std::int64_t i = first;
    // Long runs, such as padding, load several places and gradients before they add the first.
    for (; i + kAhead <= count; i += kAhead) {
      SortPlace places[kAhead];
      DPTRAIN_UNROLL
      for (int n = 0; n < kAhead; ++n) places[n] = sorted[i + n];
      if (places[kAhead - 1].id != id) break;
      float terms[kAhead];
      DPTRAIN_UNROLL
      for (int n = 0; n < kAhead; ++n) terms[n] = to_float(dy[places[n].place * width + at.remainder]);
      DPTRAIN_UNROLL
      for (int n = 0; n < kAhead; ++n) sum += terms[n];
    }
    for (; i < count && sorted[i].id == id; ++i) sum += to_float(dy[sorted[i].place * width + at.remainder]);
    gradient[id * width + at.remainder] = sum;
  }
}

/// Passes of the sort: digits of the largest id and of table_rows.
int sort_passes(std::int64_t table_rows) {
  return (static_cast<int>(std::bit_width(static_cast<std::uint64_t>(table_rows))) + kDigitBits - 1) / kDigitBits;
}
std::int64_t sort_blocks(std::int64_t count) { return (count + kBlockPlaces - 1) / kBlockPlaces; }

/// Sorts the places by id, and equal ids by place.
const SortPlace* sort_places(const Launch& at, const std::int32_t* ids, std::int64_t count, std::int64_t table_rows,
                             void* workspace) {
  SortPlace* const places[2] = {static_cast<SortPlace*>(workspace), static_cast<SortPlace*>(workspace) + count};
  const std::int64_t blocks = sort_blocks(count);
  SortPass pass{.ids = ids,
                .from = nullptr,
                .to = places[0],
                .count = count,
                .table_rows = table_rows,
                .counts = reinterpret_cast<std::uint32_t*>(places[1] + count),
                .shift = 0};
  for (int p = 0; p < sort_passes(table_rows); ++p) {
    pass.shift = p * kDigitBits;
    pass.to = places[p % 2];
    DPTRAIN_LAUNCH(at, count_digits_kernel, static_cast<unsigned>(blocks), kBlock, pass);
    DPTRAIN_LAUNCH(at, first_places_kernel, 1, kBlock, pass.counts, blocks);
    DPTRAIN_LAUNCH(at, move_places_kernel, static_cast<unsigned>(blocks), kBlock, pass);
    pass.from = pass.to;
  }
  return pass.from;
}

}  // namespace

void gather_rows(const Launch& at, DType type, const std::int32_t* ids, std::int64_t count, const void* table,
                 std::int64_t table_rows, std::int64_t width, void* y, std::uint8_t* mask) {
  if (count <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, gather_rows_kernel<T>, grid_for(at, count * width), kBlock, ids, count * width,
                        static_cast<const T*>(table), table_rows, width, static_cast<T*>(y));
  });
  if (mask != nullptr) DPTRAIN_LAUNCH_FLAT(at, id_mask_kernel, grid_for(at, count), kBlock, ids, count, mask);
}

std::uint64_t scatter_rows_workspace(std::int64_t count) {
  const std::int64_t blocks = sort_blocks(count);
  return static_cast<std::uint64_t>(2 * count) * sizeof(SortPlace) +
         static_cast<std::uint64_t>(blocks * kDigits) * sizeof(std::uint32_t);
}

void scatter_rows(const Launch& at, DType type, const std::int32_t* ids, std::int64_t count, const void* dy,
                  std::int64_t table_rows, std::int64_t width, void* workspace, float* gradient) {
  if (count <= 0) return;
  const SortPlace* const sorted = sort_places(at, ids, count, table_rows, workspace);
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, sum_runs_kernel<T>, grid_for(at, count * width), kBlock, sorted, count, width,
                        static_cast<const T*>(dy), table_rows, gradient);
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
