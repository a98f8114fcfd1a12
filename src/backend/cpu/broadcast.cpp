#include "backend/cpu/broadcast.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/parallel.h"

namespace dptrain::backend::cpu {

Broadcast::Broadcast(const Shape& from, const Shape& to)
    : from_elements_(from.elements()), to_elements_(to.elements()) {
  const int missing = to.rank() - from.rank();
  for (int d = 0; d < to.rank(); ++d) {
    if (to[d] == 1) continue;
    const bool spread = d < missing || from[d - missing] == 1;
    if (!axes_.empty() && axes_.back().spread == spread)
      axes_.back().extent *= to[d];
    else
      axes_.push_back({.extent = to[d], .spread = spread, .from_stride = 0, .to_stride = 0});
  }
  if (axes_.empty()) axes_.push_back({.extent = 1, .spread = false, .from_stride = 0, .to_stride = 0});
  std::int64_t from_stride = 1, to_stride = 1;
  for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
    axis->from_stride = axis->spread ? 0 : from_stride;
    axis->to_stride = to_stride;
    if (!axis->spread) from_stride *= axis->extent;
    to_stride *= axis->extent;
  }
}

/// Calls run(from, to, n, spread) for every run of the last axis, offsets within one row.
template <class Run>
void Broadcast::each_run(std::size_t axis, std::int64_t from, std::int64_t to, const Run& run) const {
  const Axis& a = axes_[axis];
  if (axis + 1 == axes_.size()) return run(from, to, a.extent, a.spread);
  for (std::int64_t i = 0; i < a.extent; ++i) each_run(axis + 1, from + i * a.from_stride, to + i * a.to_stride, run);
}

/// y[i] = one(y[i], spread x[i]).
template <class One>
void Broadcast::spread(const float* x, std::int64_t rows, float* y, const One& one) const {
  kernels::cpu::parallel_for(rows, [&](std::int64_t row) {
    const float* const source = x + row * from_elements_;
    float* const target = y + row * to_elements_;
    each_run(0, 0, 0, [&](std::int64_t from, std::int64_t to, std::int64_t n, bool is_spread) {
      if (is_spread) {
        const float value = source[from];
        for (std::int64_t i = 0; i < n; ++i) target[to + i] = one(target[to + i], value);
      } else {
        for (std::int64_t i = 0; i < n; ++i) target[to + i] = one(target[to + i], source[from + i]);
      }
    });
  });
}

void Broadcast::copy(const float* x, std::int64_t rows, float* y) const {
  if (trivial()) return kernels::cpu::copy({}, DType::kF32, x, y, rows * to_elements_);
  spread(x, rows, y, [](float, float value) { return value; });
}

void Broadcast::add(const float* x, std::int64_t rows, float* y) const {
  if (trivial()) return kernels::cpu::accumulate(x, y, rows * to_elements_);
  spread(x, rows, y, [](float old, float value) { return old + value; });
}

void Broadcast::multiply(const float* x, std::int64_t rows, float* y) const {
  if (trivial()) return kernels::cpu::multiply(y, x, y, rows * to_elements_);
  spread(x, rows, y, [](float old, float value) { return old * value; });
}

void Broadcast::subtract(const float* x, std::int64_t rows, float* y) const {
  if (trivial()) return kernels::cpu::subtract(y, x, y, rows * to_elements_);
  spread(x, rows, y, [](float old, float value) { return old - value; });
}

void Broadcast::maximum(const float* x, std::int64_t rows, float* y) const {
  if (trivial()) return kernels::cpu::maximum(y, x, y, rows * to_elements_);
  spread(x, rows, y, [](float old, float value) { return old >= value || std::isnan(old) ? old : value; });
}

void Broadcast::minimum(const float* x, std::int64_t rows, float* y) const {
  if (trivial()) return kernels::cpu::minimum(y, x, y, rows * to_elements_);
  spread(x, rows, y, [](float old, float value) { return old <= value || std::isnan(old) ? old : value; });
}

void Broadcast::take_where_equal(const float* x, const float* y, std::int64_t rows, float* left, float* taken) const {
  if (trivial()) return kernels::cpu::take_where_equal(x, y, left, taken, rows * to_elements_);
  kernels::cpu::parallel_for(rows, [&](std::int64_t row) {
    const float* const source = x + row * from_elements_;
    each_run(0, 0, row * to_elements_, [&](std::int64_t from, std::int64_t to, std::int64_t n, bool is_spread) {
      for (std::int64_t i = 0; i < n; ++i) {
        const bool equal = source[is_spread ? from : from + i] == y[to + i];
        if (taken != nullptr) taken[to + i] = equal ? left[to + i] : 0.0F;
        if (equal) left[to + i] = 0.0F;
      }
    });
  });
}

void Broadcast::reduce(const float* dy, std::int64_t rows, float* dx) const {
  kernels::cpu::parallel_for(rows, [&](std::int64_t row) {
    const float* const source = dy + row * to_elements_;
    float* const target = dx + row * from_elements_;
    std::fill_n(target, from_elements_, 0.0F);
    each_run(0, 0, 0, [&](std::int64_t from, std::int64_t to, std::int64_t n, bool is_spread) {
      if (is_spread) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(source[to + i]);
        target[from] += static_cast<float>(sum);
      } else {
        for (std::int64_t i = 0; i < n; ++i) target[from + i] += source[to + i];
      }
    });
  });
}

}  // namespace dptrain::backend::cpu
