#include "kernels/cuda/loss_rows.h"
#include "kernels/cuda/metric.h"

// Hits and errors of metrics, row by row.

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

template <class T>
struct CategoricalHits {
  const T* scores;
  std::int64_t classes;
  LossTargets targets;
  std::int32_t* hit;

  template <class Group>
  __device__ void run(std::int64_t row) const {
    const T* const s = scores + row * classes;
    const std::int64_t found = first_of<Group>(s, classes, largest_of<Group>(s, classes));
    const std::int64_t wanted = class_of<Group>(targets, row, classes);
    if (Group::lane() == 0) hit[row] = found >= 0 && found == wanted ? 1 : 0;
  }
};

template <class T>
struct TopKHits {
  const T* scores;
  std::int64_t classes, k;
  LossTargets targets;
  std::int32_t* hit;

  template <class Group>
  __device__ void run(std::int64_t row) const {
    const T* const s = scores + row * classes;
    const std::int64_t label = class_of<Group>(targets, row, classes);
    const float own = label >= 0 && label < classes ? to_float(s[label]) : NAN;
    int larger = 0;
    for (std::int64_t c = Group::lane(); c < classes; c += Group::kThreads) larger += to_float(s[c]) > own ? 1 : 0;
    larger = Group::sum(larger);
    if (Group::lane() == 0) hit[row] = own == own && larger < k ? 1 : 0;
  }
};

template <class T>
struct BinaryHits {
  const T* predictions;
  std::int64_t width;
  LossTargets targets;
  float threshold;
  std::int32_t* hits;

  template <class Group>
  __device__ void run(std::int64_t row) const {
    int count = 0;
    for (std::int64_t i = Group::lane(); i < width; i += Group::kThreads) {
      const bool predicted = to_float(predictions[row * width + i]) > threshold;
      count += predicted == (element_target(targets, row, width, i) == 1.0F) ? 1 : 0;
    }
    count = Group::sum(count);
    if (Group::lane() == 0) hits[row] = count;
  }
};

template <class T, bool kSquared>
struct MeanErrors {
  const T* predictions;
  std::int64_t width;
  LossTargets targets;
  float* error;

  template <class Group>
  __device__ void run(std::int64_t row) const {
    double sum = 0.0;
    for (std::int64_t i = Group::lane(); i < width; i += Group::kThreads) {
      const double difference = static_cast<double>(to_float(predictions[row * width + i])) -
                                static_cast<double>(element_target(targets, row, width, i));
      sum += kSquared ? difference * difference : fabs(difference);
    }
    sum = Group::sum(sum);
    if (Group::lane() == 0) error[row] = static_cast<float>(sum / static_cast<double>(width));
  }
};

template <bool kSquared>
void mean_errors(const Launch& at, DType type, const void* predictions, std::int64_t rows, std::int64_t width,
                 const LossTargets& targets, float* error) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_rows(at, MeanErrors<T, kSquared>{static_cast<const T*>(predictions), width, targets, error}, rows, width);
  });
}

}  // namespace

void categorical_hits(const Launch& at, DType type, const void* scores, std::int64_t rows, std::int64_t classes,
                      const LossTargets& targets, std::int32_t* hit) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_rows(at, CategoricalHits<T>{static_cast<const T*>(scores), classes, targets, hit}, rows, classes);
  });
}

void top_k_hits(const Launch& at, DType type, const void* scores, std::int64_t rows, std::int64_t classes,
                const LossTargets& targets, std::int64_t k, std::int32_t* hit) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_rows(at, TopKHits<T>{static_cast<const T*>(scores), classes, k, targets, hit}, rows, classes);
  });
}

void binary_hits(const Launch& at, DType type, const void* predictions, std::int64_t rows, std::int64_t width,
                 const LossTargets& targets, float threshold, std::int32_t* hits) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_rows(at, BinaryHits<T>{static_cast<const T*>(predictions), width, targets, threshold, hits}, rows, width);
  });
}

void squared_errors(const Launch& at, DType type, const void* predictions, std::int64_t rows, std::int64_t width,
                    const LossTargets& targets, float* error) {
  mean_errors<true>(at, type, predictions, rows, width, targets, error);
}

void absolute_errors(const Launch& at, DType type, const void* predictions, std::int64_t rows, std::int64_t width,
                     const LossTargets& targets, float* error) {
  mean_errors<false>(at, type, predictions, rows, width, targets, error);
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
