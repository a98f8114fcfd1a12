#pragma once

// Passes over rows that compute a loss of kernels/losses.h and its gradient; losses.cu instantiates them. A thread
// writes only gradients of predictions that it has read, so gradients may overwrite predictions.

#include "kernels/cuda/loss_rows.h"
#include "kernels/losses.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// loss = mean (or sum) of f(prediction, target) over the row.
template <class T, class F>
struct ElementLossPass {
  LossRows a;
  F f;

  template <class Group>
  __device__ void run(std::int64_t row) const {
    const double share = losses::kSumsElements<F> ? 1.0 : 1.0 / static_cast<double>(a.width);
    const double factor = share * static_cast<double>(gradient_factor(a.outputs));
    const T* const p = static_cast<const T*>(a.predictions) + row * a.width;
    T* const gradient = a.outputs.gradient == nullptr ? nullptr : static_cast<T*>(a.outputs.gradient) + row * a.width;
    double sum = 0.0;
    for (std::int64_t i = Group::lane(); i < a.width; i += Group::kThreads) {
      const losses::ElementLoss element =
          f(static_cast<double>(to_float(p[i])), static_cast<double>(element_target(a.targets, row, a.width, i)));
      sum += element.value;
      if (gradient != nullptr) gradient[i] = from_float<T>(static_cast<float>(element.slope * factor));
    }
    sum = Group::sum(sum);
    if (a.outputs.loss != nullptr && Group::lane() == 0) a.outputs.loss[row] = static_cast<float>(sum * share);
  }
};

template <class F>
void element_loss(const Launch& at, DType type, const LossRows& a, const F& f) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_rows(at, ElementLossPass<T, F>{a, f}, a.rows, a.width);
  });
}

/// loss = sum of f(q, y') over the classes, where q is p / sum p or, for logits, softmax(z).
template <class T, class F>
struct ClassLossPass {
  LossRows a;
  bool logits;
  F f;

  __device__ double weight(const T* p, std::int64_t c, double most) const {
    const double x = static_cast<double>(to_float(p[c]));
    return logits ? exp(x - most) : x;
  }

  template <class Group>
  __device__ void run(std::int64_t row) const {
    const T* const p = static_cast<const T*>(a.predictions) + row * a.width;
    const SmoothedRow<double> y(a.targets, row, a.width);
    const double most = logits ? static_cast<double>(largest_of<Group>(p, a.width)) : 0.0;
    double sum = 0.0;
    for (std::int64_t c = Group::lane(); c < a.width; c += Group::kThreads) sum += weight(p, c, most);
    sum = Group::sum(sum);
    double value = 0.0, back = 0.0;  // back = sum of (d loss / d q) q, which the division propagates to every p
    for (std::int64_t c = Group::lane(); c < a.width; c += Group::kThreads) {
      const double q = weight(p, c, most) / sum;
      const losses::ElementLoss element = f(q, y[c]);
      value += element.value;
      back += element.slope * q;
    }
    value = Group::sum(value);
    back = Group::sum(back);
    if (a.outputs.loss != nullptr && Group::lane() == 0) a.outputs.loss[row] = static_cast<float>(value);
    if (a.outputs.gradient == nullptr) return;
    const double factor = static_cast<double>(gradient_factor(a.outputs));
    T* const gradient = static_cast<T*>(a.outputs.gradient) + row * a.width;
    for (std::int64_t c = Group::lane(); c < a.width; c += Group::kThreads) {
      const double q = weight(p, c, most) / sum, slope = f(q, y[c]).slope - back;
      gradient[c] = from_float<T>(static_cast<float>(factor * slope * (logits ? q : 1.0 / sum)));
    }
  }
};

template <class F>
void class_loss(const Launch& at, DType type, const LossRows& a, bool logits, const F& f) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_rows(at, ClassLossPass<T, F>{a, logits, f}, a.rows, a.width);
  });
}

/// One loss per sum over the middle axis of [rows, width, inner].
template <class T, class F>
struct SumsLossPass {
  LossRows a;
  std::int64_t inner;
  F f;

  template <class Group>
  __device__ void run(std::int64_t number) const {
    const std::int64_t first = number / inner * a.width * inner + number % inner;
    const T* const p = static_cast<const T*>(a.predictions) + first;
    const auto target = [&](std::int64_t k) {
      return static_cast<double>(inner == 1 ? element_target(a.targets, number, a.width, k)
                                            : a.targets.dense[first + k * inner]);
    };
    losses::Sums sums;
    for (std::int64_t k = Group::lane(); k < a.width; k += Group::kThreads) {
      double q = static_cast<double>(to_float(p[k * inner])), y = target(k);
      if (!losses::is_counted<F>(y)) q = y = 0.0;  // adds nothing; without a branch between the loads
      f.add(q, y, sums);
    }
    sums.products = Group::sum(sums.products);
    sums.predictions = Group::sum(sums.predictions);
    sums.targets = Group::sum(sums.targets);
    const losses::SumsLoss found = f.loss(sums);
    if (a.outputs.loss != nullptr && Group::lane() == 0) a.outputs.loss[number] = static_cast<float>(found.value);
    if (a.outputs.gradient == nullptr) return;
    const double factor = static_cast<double>(gradient_factor(a.outputs));
    T* const gradient = static_cast<T*>(a.outputs.gradient) + first;
    for (std::int64_t k = Group::lane(); k < a.width; k += Group::kThreads) {
      double slope = found.slope(static_cast<double>(to_float(p[k * inner])), target(k));
      if (!losses::is_counted<F>(target(k))) slope = 0.0;
      gradient[k * inner] = from_float<T>(static_cast<float>(factor * slope));
    }
  }
};

template <class F>
void sums_loss(const Launch& at, DType type, const LossRows& a, std::int64_t inner, const F& f) {
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_rows(at, SumsLossPass<T, F>{a, inner, f}, a.rows * inner, a.width);
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
