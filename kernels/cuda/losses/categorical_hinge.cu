#include "kernels/cuda/loss_rows.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

struct LargestDouble {
  __device__ double operator()(double a, double b) const { return a > b ? a : b; }
};

template <class T>
struct CategoricalHingePass {
  LossRows a;

  __device__ double target(std::int64_t row, std::int64_t i) const {
    return static_cast<double>(element_target(a.targets, row, a.width, i));
  }

  template <class Group>
  __device__ void run(std::int64_t row) const {
    const T* const p = static_cast<const T*>(a.predictions) + row * a.width;
    const auto other = [&](std::int64_t i) { return (1.0 - target(row, i)) * static_cast<double>(to_float(p[i])); };
    double right = 0.0, wrong = -INFINITY;
    for (std::int64_t i = Group::lane(); i < a.width; i += Group::kThreads) {
      right += target(row, i) * static_cast<double>(to_float(p[i]));
      wrong = other(i) > wrong ? other(i) : wrong;
    }
    right = Group::sum(right);  // NaN where a prediction is
    wrong = Group::reduce(wrong, LargestDouble{});
    int sharers = 0;
    for (std::int64_t i = Group::lane(); i < a.width; i += Group::kThreads) sharers += other(i) == wrong ? 1 : 0;
    sharers = Group::sum(sharers);
    const double value = wrong - right + 1.0;
    const bool kept = !(value < 0.0);
    if (a.outputs.loss != nullptr && Group::lane() == 0) a.outputs.loss[row] = kept ? static_cast<float>(value) : 0.0F;
    if (a.outputs.gradient == nullptr) return;
    const double factor = kept ? static_cast<double>(gradient_factor(a.outputs)) : 0.0;
    T* const gradient = static_cast<T*>(a.outputs.gradient) + row * a.width;
    for (std::int64_t i = Group::lane(); i < a.width; i += Group::kThreads) {
      const double y = target(row, i), share = other(i) == wrong ? (1.0 - y) / sharers : 0.0;
      gradient[i] = from_float<T>(static_cast<float>(factor * (share - y)));
    }
  }
};

}  // namespace

void categorical_hinge(const Launch& at, const LossRows& a) {
  dispatch(a.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_rows(at, CategoricalHingePass<T>{a}, a.rows, a.width);
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
