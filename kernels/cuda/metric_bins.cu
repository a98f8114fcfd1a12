#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/loss_rows.h"
#include "kernels/cuda/metric_bins.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// The k-th largest value of a row. The earlier of equal values counts as larger. reaches() is true for the k largest.
struct KthLargest {
  float value = INFINITY;
  std::int64_t place = -1;

  /// Moves to the next value in descending order. All threads of the group must call it.
  template <class Group, class T>
  __device__ void step(const T* row, std::int64_t classes) {
    float next = -INFINITY;
    for (std::int64_t c = Group::lane(); c < classes; c += Group::kThreads)
      if (is_behind(to_float(row[c]), c)) next = fmaxf(next, to_float(row[c]));
    next = Group::reduce(next, Largest{});
    constexpr int kNone = 0x7FFFFFFF;
    int at = kNone;
    for (std::int64_t c = Group::lane(); c < classes && at == kNone; c += Group::kThreads)
      if (to_float(row[c]) == next && is_behind(next, c)) at = static_cast<int>(c);
    at = Group::reduce(at, Smallest{});
    value = next;
    place = at == kNone ? classes : at;
  }
  __device__ bool is_behind(float x, std::int64_t c) const { return x < value || (x == value && c > place); }
  __device__ bool reaches(float x, std::int64_t c) const { return x > value || (x == value && c <= place); }
};

__device__ inline std::int32_t bucket_of(const ThresholdBins& what, float p) {
  if (p != p) return 0;
  if (what.even) {
    const auto place =
        static_cast<std::int32_t>(ceilf(fminf(fmaxf(p, 0.0F), 1.0F) * static_cast<float>(what.count - 1)));
    return place > 1 ? place : 1;
  }
  std::int32_t low = 0, high = what.count;  // thresholds before low are less than p, those from high on are not
  while (low < high) {
    const std::int32_t middle = (low + high) / 2;
    if (what.thresholds[middle] < p)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

template <class T>
struct ThresholdBinsPass {
  const T* predictions;
  std::int64_t classes;
  LossTargets targets;
  ThresholdBins what;
  std::int32_t* bins;

  template <class Group>
  __device__ void run(std::int64_t row) const {
    const T* const p = predictions + row * classes;
    const float most = what.largest ? largest_of<Group>(p, classes) : 0.0F;
    KthLargest last;
    for (std::int64_t i = 0; i < what.top_k; ++i) last.step<Group>(p, classes);
    for (std::int64_t c = Group::lane(); c < classes; c += Group::kThreads)
      bins[row * classes + c] = bin_of(row, c, to_float(p[c]), most, last);
  }

  __device__ std::int32_t bin_of(std::int64_t row, std::int64_t c, float x, float most, const KthLargest& last) const {
    if (what.class_id >= 0 && c != what.class_id) return -1;
    std::int32_t bucket = 0;
    if (what.largest)
      bucket = x >= most && fabsf(x) > kNearlyZero ? 1 : 0;
    else if (what.top_k == 0 || last.reaches(x, c))
      bucket = bucket_of(what, what.sigmoid ? 1.0F / (1.0F + expf(-x)) : x);
    const std::int32_t side = element_target(targets, row, classes, c) != 0.0F ? 1 : 0;
    const auto group = static_cast<std::int32_t>(what.by_class ? c : 0);
    return (group * 2 + side) * (what.count + 1) + bucket;
  }
};

template <class T>
struct ConfusionBinsPass {
  const T* scores;
  std::int64_t classes;
  LossTargets targets;
  std::int64_t size, ignored;
  std::int32_t* bins;

  template <class Group>
  __device__ void run(std::int64_t row) const {
    const T* const s = scores + row * classes;
    const std::int64_t found = first_of<Group>(s, classes, largest_of<Group>(s, classes));
    const std::int64_t label = class_of<Group>(targets, row, classes);
    const bool counts = label >= 0 && label < size && label != ignored && found >= 0 && found < size;
    if (Group::lane() == 0) bins[row] = counts ? static_cast<std::int32_t>(label * size + found) : -1;
  }
};

/// Maximum number of counters per block in shared memory (16 KiB). For more bins, blocks count in global memory.
constexpr std::int64_t kMaxBlockBins = 4096;

/// Bins of rows, of which a mask may leave out some.
struct CountedBins {
  const std::int32_t* bins;
  const std::uint8_t* mask;  ///< of rows; null: all count
  std::int64_t bins_per_row;

  /// The bin of element i, or -1.
  __device__ std::int32_t at(std::int64_t i) const {
    return mask == nullptr || mask[split(i, bins_per_row).quotient] != 0 ? bins[i] : -1;
  }
};

__global__ void count_in_blocks_kernel(const CountedBins bins, std::int64_t n, std::int64_t count,
                                       unsigned* workspace) {
  DPTRAIN_DYNAMIC_SHARED(unsigned, mine);
  for (std::int64_t i = threadIdx.x; i < count; i += kBlock) mine[i] = 0;
  __syncthreads();
  for (std::int64_t i = thread_number(); i < n; i += thread_count())
    if (const std::int32_t bin = bins.at(i); bin >= 0) atomicAdd(&mine[bin], 1);
  __syncthreads();
  for (std::int64_t i = threadIdx.x; i < count; i += kBlock)
    if (mine[i] != 0) atomicAdd(&workspace[i], mine[i]);
}

__global__ void count_kernel(const CountedBins bins, std::int64_t n, unsigned* workspace) {
  for (std::int64_t i = thread_number(); i < n; i += thread_count())
    if (const std::int32_t bin = bins.at(i); bin >= 0) atomicAdd(&workspace[bin], 1);
}

__global__ void add_counts_kernel(const unsigned* workspace, std::int64_t count, double* counts) {
  for (std::int64_t i = thread_number(); i < count; i += thread_count()) counts[i] += static_cast<double>(workspace[i]);
}

/// A block sums one class at a time.
template <class T>
__global__ void regression_sums_kernel(const T* predictions, std::int64_t rows, std::int64_t classes,
                                       LossTargets targets, double* sums) {
  for (std::int64_t c = blockIdx.x; c < classes; c += gridDim.x) {
    double sum = 0.0, squares = 0.0, residual = 0.0;
    for (std::int64_t row = threadIdx.x; row < rows; row += kBlock) {
      const double y = static_cast<double>(element_target(targets, row, classes, c));
      const double difference = y - static_cast<double>(to_float(predictions[row * classes + c]));
      sum += y;
      squares += y * y;
      residual += difference * difference;
    }
    sum = block_sum(sum);
    squares = block_sum(squares);
    residual = block_sum(residual);
    if (threadIdx.x == 0) {
      sums[3 * c] += sum;
      sums[3 * c + 1] += squares;
      sums[3 * c + 2] += residual;
    }
  }
}

}  // namespace

void threshold_bins(const Launch& at, DType type, const void* predictions, std::int64_t rows, std::int64_t classes,
                    const LossTargets& targets, const ThresholdBins& what, std::int32_t* bins) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_rows(at, ThresholdBinsPass<T>{static_cast<const T*>(predictions), classes, targets, what, bins}, rows,
              classes);
  });
}

void confusion_bins(const Launch& at, DType type, const void* scores, std::int64_t rows, std::int64_t classes,
                    const LossTargets& targets, std::int64_t size, std::int64_t ignored, std::int32_t* bins) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_rows(at, ConfusionBinsPass<T>{static_cast<const T*>(scores), classes, targets, size, ignored, bins}, rows,
              classes);
  });
}

void add_counts(const Launch& at, const std::int32_t* bins, std::int64_t n, std::int64_t count, unsigned* workspace,
                double* counts, const std::uint8_t* mask, std::int64_t bins_per_row) {
  if (n <= 0) return;
  const CountedBins counted{bins, mask, bins_per_row};
  fill(at, 0.0F, reinterpret_cast<float*>(workspace), count);
  if (count <= kMaxBlockBins)
    DPTRAIN_LAUNCH_SHARED(at, count_in_blocks_kernel, grid_for(at, n, 16), kBlock,
                          static_cast<std::size_t>(count) * sizeof(unsigned), counted, n, count, workspace);
  else
    DPTRAIN_LAUNCH(at, count_kernel, grid_for(at, n), kBlock, counted, n, workspace);
  DPTRAIN_LAUNCH(at, add_counts_kernel, grid_for(at, count), kBlock, workspace, count, counts);
}

void add_regression_sums(const Launch& at, DType type, const void* predictions, std::int64_t rows, std::int64_t classes,
                         const LossTargets& targets, double* sums) {
  if (rows <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto kernel = regression_sums_kernel<T>;
    const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(classes, std::int64_t{at.multiprocessors} * 16));
    DPTRAIN_LAUNCH(at, kernel, blocks, kBlock, static_cast<const T*>(predictions), rows, classes, targets, sums);
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
