#include "kernels/cuda/softmax.h"

#include "kernels/cuda/map.h"
#include "kernels/cuda/rows.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

// A thread writes only elements that it has read, so outputs may be inputs.

template <class T, class Out>
struct SoftmaxForward {
  const T* x;
  std::int64_t classes;
  Out* y;

  template <class Group>
  __device__ void run(std::int64_t row) const {
    const T* const z = x + row * classes;
    Out* const p = y + row * classes;
    const float most = largest_of<Group>(z, classes);
    float sum = 0.0F;
    for (std::int64_t c = Group::lane(); c < classes; c += Group::kThreads) sum += expf(to_float(z[c]) - most);
    const float share = 1.0F / Group::sum(sum);
    for (std::int64_t c = Group::lane(); c < classes; c += Group::kThreads)
      p[c] = from_float<Out>(expf(to_float(z[c]) - most) * share);
  }
};

template <class T>
struct Backward {
  const T *y, *dy;
  std::int64_t classes;
  T* dx;

  template <class Group>
  __device__ void run(std::int64_t row) const {
    const std::int64_t begin = row * classes + Group::lane(), end = (row + 1) * classes;
    float sum = 0.0F;
    for (std::int64_t i = begin; i < end; i += Group::kThreads) sum = fmaf(to_float(y[i]), to_float(dy[i]), sum);
    const float dot = Group::sum(sum);
    for (std::int64_t i = begin; i < end; i += Group::kThreads)
      dx[i] = from_float<T>(to_float(y[i]) * (to_float(dy[i]) - dot));
  }
};

template <class T>
struct LogForward {
  const T* x;
  std::int64_t classes;
  T* y;

  template <class Group>
  __device__ void run(std::int64_t row) const {
    const std::int64_t begin = row * classes + Group::lane(), end = (row + 1) * classes;
    const float most = largest_of<Group>(x + row * classes, classes);
    float sum = 0.0F;
    for (std::int64_t i = begin; i < end; i += Group::kThreads) sum += expf(to_float(x[i]) - most);
    const float log_sum = logf(Group::sum(sum));
    for (std::int64_t i = begin; i < end; i += Group::kThreads) y[i] = from_float<T>(to_float(x[i]) - most - log_sum);
  }
};

template <class T>
struct LogBackward {
  const T *y, *dy;
  std::int64_t classes;
  T* dx;

  template <class Group>
  __device__ void run(std::int64_t row) const {
    const std::int64_t begin = row * classes + Group::lane(), end = (row + 1) * classes;
    float sum = 0.0F;
    for (std::int64_t i = begin; i < end; i += Group::kThreads) sum += to_float(dy[i]);
    sum = Group::sum(sum);
    for (std::int64_t i = begin; i < end; i += Group::kThreads)
      dx[i] = from_float<T>(to_float(dy[i]) - expf(to_float(y[i])) * sum);
  }
};

struct SigmoidOf {
  __device__ float operator()(float x) const { return 1.0F / (1.0F + expf(-x)); }
};

}  // namespace

void softmax_forward(const Launch& at, DType type, const void* x, std::int64_t rows, std::int64_t classes, void* y) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_rows(at, SoftmaxForward<T, T>{static_cast<const T*>(x), classes, static_cast<T*>(y)}, rows, classes);
  });
}

void softmax_probabilities(const Launch& at, DType type, const void* x, std::int64_t rows, std::int64_t classes,
                           float* y) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_rows(at, SoftmaxForward<T, float>{static_cast<const T*>(x), classes, y}, rows, classes);
  });
}

void sigmoid_probabilities(const Launch& at, DType type, const void* x, std::int64_t n, float* y) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    map(at, n, SigmoidOf{}, y, static_cast<const T*>(x));
  });
}

void softmax_backward(const Launch& at, DType type, const void* y, const void* dy, std::int64_t rows,
                      std::int64_t classes, void* dx) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Backward<T> pass{static_cast<const T*>(y), static_cast<const T*>(dy), classes, static_cast<T*>(dx)};
    over_rows(at, pass, rows, classes);
  });
}

void log_softmax_forward(const Launch& at, DType type, const void* x, std::int64_t rows, std::int64_t classes,
                         void* y) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_rows(at, LogForward<T>{static_cast<const T*>(x), classes, static_cast<T*>(y)}, rows, classes);
  });
}

void log_softmax_backward(const Launch& at, DType type, const void* y, const void* dy, std::int64_t rows,
                          std::int64_t classes, void* dx) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const LogBackward<T> pass{static_cast<const T*>(y), static_cast<const T*>(dy), classes, static_cast<T*>(dx)};
    over_rows(at, pass, rows, classes);
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
