#include "kernels/cuda/loss.h"

#include "kernels/cuda/loss_rows.h"
#include "kernels/losses.h"

// A thread writes only gradients of predictions that it has read, so gradients may overwrite predictions.

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

using losses::clipped;
using losses::inside_clip;

template <class Group, class T>
__device__ void note_hit(const T* scores, float most, const LossTargets& targets, std::int64_t row,
                         std::int64_t classes, std::int32_t* hit) {
  const std::int64_t found = first_of<Group>(scores, classes, most);
  const std::int64_t wanted = class_of<Group>(targets, row, classes);
  if (Group::lane() == 0) hit[row] = found >= 0 && found == wanted ? 1 : 0;
}

/// With t = z - max z: loss = sum(y') ln(sum e^t) - sum(y' t), which is accurate for large logits.
/// d loss / d z = softmax(z) sum(y') - y'.
template <class T>
struct SoftmaxCrossEntropy {
  const T* logits;
  std::int64_t classes;
  LossTargets targets;
  LossOutputs outputs;

  template <class Group>
  __device__ void run(std::int64_t row) const {
    const T* const z = logits + row * classes;
    const SmoothedRow<float> y(targets, row, classes);
    const float most = largest_of<Group>(z, classes);
    if (outputs.hit != nullptr) note_hit<Group>(z, most, targets, row, classes, outputs.hit);
    float sum = 0.0F, mass = 0.0F, dot = 0.0F;
    for (std::int64_t c = Group::lane(); c < classes; c += Group::kThreads) {
      const float t = to_float(z[c]) - most, target = y[c];
      sum += expf(t);
      mass += target;
      if (target != 0.0F) dot = fmaf(target, t, dot);  // a logit of -inf may have target 0
    }
    sum = Group::sum(sum);
    mass = Group::sum(mass);
    dot = Group::sum(dot);
    if (outputs.loss != nullptr && Group::lane() == 0) outputs.loss[row] = mass * logf(sum) - dot;
    if (outputs.gradient == nullptr) return;
    const float factor = gradient_factor(outputs), share = factor * mass / sum;
    T* const gradient = static_cast<T*>(outputs.gradient) + row * classes;
    for (std::int64_t c = Group::lane(); c < classes; c += Group::kThreads)
      gradient[c] = from_float<T>(expf(to_float(z[c]) - most) * share - y[c] * factor);
  }
};

template <class T>
struct CategoricalCrossEntropy {
  const T* probabilities;
  std::int64_t classes;
  LossTargets targets;
  LossOutputs outputs;

  template <class Group>
  __device__ void run(std::int64_t row) const {
    const T* const p = probabilities + row * classes;
    const SmoothedRow<double> y(targets, row, classes);
    if (outputs.hit != nullptr) note_hit<Group>(p, largest_of<Group>(p, classes), targets, row, classes, outputs.hit);
    double sum = 0.0;
    for (std::int64_t c = Group::lane(); c < classes; c += Group::kThreads) sum += static_cast<double>(to_float(p[c]));
    sum = Group::sum(sum);
    double value = 0.0, back = 0.0;  // back = sum of (d loss / d q) q, which normalization propagates to every p
    for (std::int64_t c = Group::lane(); c < classes; c += Group::kThreads) {
      const double q = static_cast<double>(to_float(p[c])) / sum, target = y[c];
      if (target != 0.0) value -= target * log(clipped(q));
      if (inside_clip(q)) back -= target;
    }
    value = Group::sum(value);
    back = Group::sum(back);
    if (outputs.loss != nullptr && Group::lane() == 0) outputs.loss[row] = static_cast<float>(value);
    if (outputs.gradient == nullptr) return;
    const double factor = static_cast<double>(gradient_factor(outputs)) / sum;
    T* const gradient = static_cast<T*>(outputs.gradient) + row * classes;
    for (std::int64_t c = Group::lane(); c < classes; c += Group::kThreads) {
      const double q = static_cast<double>(to_float(p[c])) / sum;
      const double slope = (inside_clip(q) ? -y[c] / q : 0.0) - back;
      gradient[c] = from_float<T>(static_cast<float>(factor * slope));
    }
  }
};

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
    right = Group::sum(right);  // NaN if any prediction is
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

void softmax_cross_entropy(const Launch& at, DType type, const void* logits, std::int64_t rows, std::int64_t classes,
                           const LossTargets& targets, const LossOutputs& outputs) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_rows(at, SoftmaxCrossEntropy<T>{static_cast<const T*>(logits), classes, targets, outputs}, rows, classes);
  });
}

void categorical_cross_entropy(const Launch& at, DType type, const void* probabilities, std::int64_t rows,
                               std::int64_t classes, const LossTargets& targets, const LossOutputs& outputs) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const CategoricalCrossEntropy<T> pass{static_cast<const T*>(probabilities), classes, targets, outputs};
    over_rows(at, pass, rows, classes);
  });
}

void categorical_hinge(const Launch& at, DType type, const LossRows& a) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_rows(at, CategoricalHingePass<T>{a}, a.rows, a.width);
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
