#pragma once

// Extents of 1 that stand for larger ones (Keras's merge layers): a smaller tensor spread over a larger one and, in
// backward, the larger one's gradient summed over what was spread. Any thread; work is shared among the caller's
// threads by rows, sums are in the order of memory.

#include <cstdint>
#include <vector>

#include "core/shape.h"

namespace dptrain::backend::cpu {

class Broadcast {
 public:
  /// Shapes of one sample, aligned at the last axis.
  Broadcast(const Shape& from, const Shape& to);

  /// Nothing is spread: both have the same elements.
  bool trivial() const noexcept { return from_elements_ == to_elements_; }

  void copy(const float* x, std::int64_t rows, float* y) const;      ///< y = spread x
  void add(const float* x, std::int64_t rows, float* y) const;       ///< y += spread x
  void subtract(const float* x, std::int64_t rows, float* y) const;  ///< y -= spread x
  void multiply(const float* x, std::int64_t rows, float* y) const;  ///< y *= spread x
  void maximum(const float* x, std::int64_t rows,
               float* y) const;  ///< y = the larger of y and spread x, NaN before both
  void minimum(const float* x, std::int64_t rows, float* y) const;
  /// kernels::cpu::take_where_equal of spread x and y.
  void take_where_equal(const float* x, const float* y, std::int64_t rows, float* left, float* taken) const;
  /// dx = dy summed over what was spread; not for trivial ones.
  void reduce(const float* dy, std::int64_t rows, float* dx) const;

 private:
  /// Neighbouring axes of one kind are one.
  struct Axis {
    std::int64_t extent;
    bool spread;
    std::int64_t from_stride, to_stride;
  };

  template <class Run>
  void each_run(std::size_t axis, std::int64_t from, std::int64_t to, const Run& run) const;
  template <class One>
  void spread(const float* x, std::int64_t rows, float* y, const One& one) const;

  std::vector<Axis> axes_;
  std::int64_t from_elements_, to_elements_;
};

}  // namespace dptrain::backend::cpu
