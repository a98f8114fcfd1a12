// Weights and masks of rows, and sums over rows.

#include "kernels/cuda/lanes.h"
#include "kernels/cuda/loss.h"
#include "kernels/cuda/loss_rows.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

template <class T>
struct WeighByClass {
  LossTargets targets;
  std::int64_t width;
  const float* weights;
  std::int64_t count;
  float* loss;
  T* gradient;

  template <class Group>
  __device__ void run(std::int64_t row) const {
    std::int64_t label = -1;
    if (targets.dense == nullptr || width > 1)
      label = class_of<Group>(targets, row, width);
    else if (fabsf(targets.dense[row]) < 1e9F)  // neither NaN nor too large
      label = static_cast<std::int64_t>(rintf(targets.dense[row]));
    const float factor = label >= 0 && label < count ? weights[label] : 1.0F;
    if (Group::lane() == 0) loss[row] *= factor;
    for (std::int64_t i = Group::lane(); gradient != nullptr && i < width; i += Group::kThreads)
      gradient[row * width + i] = from_float<T>(to_float(gradient[row * width + i]) * factor);
  }
};

template <class T>
struct WeighBySample {
  const float* weights;
  std::int64_t parts, width;
  float* loss;
  T* gradient;

  template <class Group>
  __device__ void run(std::int64_t row) const {
    const float factor = weights[row];
    for (std::int64_t i = Group::lane(); i < parts; i += Group::kThreads) loss[row * parts + i] *= factor;
    for (std::int64_t i = Group::lane(); gradient != nullptr && i < width; i += Group::kThreads)
      gradient[row * width + i] = from_float<T>(to_float(gradient[row * width + i]) * factor);
  }
};

template <class T>
__global__ void mask_gradient_kernel(const std::uint8_t* mask, std::int64_t elements, std::int64_t width,
                                     const float* scale, T* gradient) {
  for (std::int64_t i = thread_number(); i < elements; i += thread_count())
    gradient[i] = from_float<T>(mask[split(i, width).quotient] != 0 ? *scale * to_float(gradient[i]) : 0.0F);
}

__global__ void mask_labels_kernel(const std::int32_t* labels, std::int64_t n, std::int32_t ignored,
                                   std::uint8_t* mask) {
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) mask[i] = labels[i] != ignored ? 1 : 0;
}

__global__ void mask_rows_kernel(const float* labels, std::int64_t n, std::int64_t width, std::uint8_t* mask) {
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) mask[i] = labels[i * width] < 0.0F ? 0 : 1;
}

/// One block; sums of integers do not depend on the order.
__global__ void count_valid_kernel(const std::uint8_t* mask, std::int64_t n, double* valid) {
  double count = 0.0;
  for (std::int64_t i = threadIdx.x; i < n; i += kBlock) count += static_cast<double>(mask[i]);
  count = block_sum(count);
  if (threadIdx.x == 0) *valid += count;
}

__global__ void mask_scale_kernel(const double* valid, int ranks, std::int64_t stride, double positions, double epsilon,
                                  float* scale) {
  double sum = epsilon;
  for (int rank = 0; rank < ranks; ++rank) sum += valid[rank * stride];
  *scale = static_cast<float>(positions / sum);
}

/// Values per block of the first stage, and the maximum number of blocks.
constexpr std::int64_t kSumPiece = 16 * kBlock, kMaxSumPieces = 256;

template <class T>
__device__ double sum_of(const T* values, const std::uint8_t* mask, std::int64_t begin, std::int64_t end) {
  double sum = 0.0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kBlock)
    if (mask == nullptr || mask[i] != 0) sum += static_cast<double>(values[i]);
  return block_sum(sum);
}

template <class T>
__global__ void loss_sums_kernel(const T* values, const std::uint8_t* mask, std::int64_t n, std::int64_t piece,
                                 double* sums) {
  const std::int64_t begin = blockIdx.x * piece, end = begin + piece;
  const double sum = sum_of(values, mask, begin, end < n ? end : n);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <class T>
__global__ void add_sum_kernel(const T* values, const std::uint8_t* mask, std::int64_t n, double factor, double* sum) {
  const double all_of_them = sum_of(values, mask, 0, n);
  if (threadIdx.x == 0) *sum += factor * all_of_them;
}

template <class T>
void add_sum_of(const Launch& at, const T* values, const std::uint8_t* mask, std::int64_t n, double factor,
                double* workspace, double* sum) {
  if (n <= 0) return;
  if (n <= kSumPiece) {
    DPTRAIN_LAUNCH(at, add_sum_kernel<T>, 1, kBlock, values, mask, n, factor, sum);
    return;
  }
  const std::int64_t piece = std::max(kSumPiece, (n + kMaxSumPieces - 1) / kMaxSumPieces);
  const std::int64_t pieces = (n + piece - 1) / piece;
  DPTRAIN_LAUNCH(at, loss_sums_kernel<T>, static_cast<unsigned>(pieces), kBlock, values, mask, n, piece, workspace);
  DPTRAIN_LAUNCH(at, add_sum_kernel<double>, 1, kBlock, workspace, static_cast<const std::uint8_t*>(nullptr), pieces,
                 factor, sum);
}

}  // namespace

void weigh_by_class(const Launch& at, DType type, const LossTargets& targets, std::int64_t rows, std::int64_t width,
                    const float* weights, std::int64_t count, float* loss, void* gradient) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_rows(at, WeighByClass<T>{targets, width, weights, count, loss, static_cast<T*>(gradient)}, rows, width);
  });
}

void weigh_by_sample(const Launch& at, DType type, const float* weights, std::int64_t rows, std::int64_t parts,
                     std::int64_t width, float* loss, void* gradient) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_rows(at, WeighBySample<T>{weights, parts, width, loss, static_cast<T*>(gradient)}, rows, width);
  });
}

void mask_gradient(const Launch& at, DType type, const std::uint8_t* mask, std::int64_t rows, std::int64_t width,
                   const float* scale, void* gradient) {
  if (rows <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, mask_gradient_kernel<T>, grid_for(at, rows * width), kBlock, mask, rows * width, width,
                        scale, static_cast<T*>(gradient));
  });
}

void mask_labels(const Launch& at, const std::int32_t* labels, std::int64_t n, std::int32_t ignored,
                 std::uint8_t* mask) {
  if (n > 0) DPTRAIN_LAUNCH_FLAT(at, mask_labels_kernel, grid_for(at, n), kBlock, labels, n, ignored, mask);
}

void mask_labels(const Launch& at, const float* labels, std::int64_t n, std::int64_t width, std::uint8_t* mask) {
  if (n > 0) DPTRAIN_LAUNCH_FLAT(at, mask_rows_kernel, grid_for(at, n), kBlock, labels, n, width, mask);
}

void count_valid(const Launch& at, const std::uint8_t* mask, std::int64_t n, double* valid) {
  if (n > 0) DPTRAIN_LAUNCH(at, count_valid_kernel, 1, kBlock, mask, n, valid);
}

void mask_scale(const Launch& at, const double* valid, int ranks, std::int64_t stride, double positions, double epsilon,
                float* scale) {
  DPTRAIN_LAUNCH_FLAT(at, mask_scale_kernel, 1, 1, valid, ranks, stride, positions, epsilon, scale);
}

std::int64_t add_sum_workspace() { return kMaxSumPieces; }

void add_sum(const Launch& at, const float* values, std::int64_t n, double divisor, double* workspace, double* sum,
             const std::uint8_t* mask) {
  add_sum_of(at, values, mask, n, 1.0 / divisor, workspace, sum);
}
void add_sum(const Launch& at, const std::int32_t* values, std::int64_t n, double divisor, double* workspace,
             double* sum, const std::uint8_t* mask) {
  add_sum_of(at, values, mask, n, 1.0 / divisor, workspace, sum);
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
