#pragma once

// Passes over the rows of [rows, width]. A group of threads shares a row: one thread for short rows, a warp, or a block
// for long rows. Only for .cu files. A pass is a struct with
//
//   template <class Group> __device__ void run(std::int64_t row) const
//
// that loops over the row with Group::lane() and Group::kThreads and combines results with Group::reduce.

#include "kernels/cuda/lanes.h"
#include "kernels/cuda/reduce.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

template <int kSize>
struct RowGroup {
  static constexpr int kThreads = kSize;
  static_assert(kSize == 1 || kSize == 32 || kSize == kBlock);

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % kSize; }

  /// Reduces the group's values with `op`, which must be commutative; all threads get the result.
  template <class T, class Op>
  __device__ static T reduce(T value, Op op) {
    if constexpr (kSize == 1) {
      return value;
    } else if constexpr (kSize == 32) {
      return warp_reduce(value, op);
    } else {
      return block_reduce(value, op);
    }
  }
  template <class T>
  __device__ static T sum(T value) {
    return reduce(value, Sum<T>{});
  }
};

template <class Group, class Pass>
__global__ void rows_kernel(Pass pass, std::int64_t rows) {
  const std::int64_t step = thread_count() / Group::kThreads;  // all threads of a group have the same rows
  for (std::int64_t row = thread_number() / Group::kThreads; row < rows; row += step) pass.template run<Group>(row);
}

/// Maximum width of rows for a thread and for a warp. There are often too few rows to fill a GPU with warps.
inline constexpr std::int64_t kThreadWidth = 8, kWarpWidth = 256;

template <class Pass>
void over_rows(const Launch& at, const Pass& pass, std::int64_t rows, std::int64_t width) {
  if (rows <= 0) return;
  using Thread = RowGroup<1>;
  using Warp = RowGroup<32>;
  using Block = RowGroup<kBlock>;
  if (width <= kThreadWidth) {
    const auto kernel = rows_kernel<Thread, Pass>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, rows), kBlock, pass, rows);
  } else if (width <= kWarpWidth) {
    const auto kernel = rows_kernel<Warp, Pass>;
    DPTRAIN_LAUNCH(at, kernel, grid_for(at, rows * Warp::kThreads), kBlock, pass, rows);
  } else {
    const auto kernel = rows_kernel<Block, Pass>;
    DPTRAIN_LAUNCH(at, kernel, grid_for(at, rows * Block::kThreads), kBlock, pass, rows);
  }
}

/// The larger value; ignores NaN.
struct Largest {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Smallest {
  __device__ int operator()(int a, int b) const { return a < b ? a : b; }
};

/// The largest of n elements, ignoring NaN; -inf if all are NaN.
template <class Group, class T>
__device__ float largest_of(const T* x, std::int64_t n) {
  float most = -INFINITY;
  for (std::int64_t i = Group::lane(); i < n; i += Group::kThreads) most = fmaxf(most, to_float(x[i]));
  return Group::reduce(most, Largest{});
}

/// Index of the first element equal to `most`; -1 if there is none.
template <class Group, class T>
__device__ std::int64_t first_of(const T* x, std::int64_t n, float most) {
  constexpr int kNone = 0x7FFFFFFF;
  int place = kNone;
  for (std::int64_t i = Group::lane(); i < n && place == kNone; i += Group::kThreads)
    if (to_float(x[i]) == most) place = static_cast<int>(i);
  place = Group::reduce(place, Smallest{});
  return place == kNone ? -1 : place;
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
