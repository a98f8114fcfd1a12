#include "data/images/resize_tables.h"

#include <algorithm>
#include <cmath>

namespace dptrain::data {
namespace {

/// Floats as TensorFlow has them, so that a place between two pixels falls on the same side.
float centre(std::int64_t i, float step) { return (static_cast<float>(i) + 0.5F) * step; }

float step_of(std::int64_t in, std::int64_t out) { return static_cast<float>(in) / static_cast<float>(out); }

void nearest(std::int64_t in, ResizeTable& table) {
  const float step = step_of(in, table.size);
  for (std::int64_t i = 0; i < table.size; ++i)
    table.first.push_back(
        static_cast<std::int32_t>(std::min(static_cast<std::int64_t>(std::floor(centre(i, step))), in - 1)));
}

/// tensorflow/core/kernels/image/resize_bilinear_op.cc, HalfPixelScaler.
void bilinear(std::int64_t in, ResizeTable& table) {
  const float step = step_of(in, table.size);
  const std::int64_t size = table.size;
  table.taps = std::min<std::int64_t>(2, in);
  table.weights.assign(static_cast<std::size_t>(table.taps * size), 0.0F);
  for (std::int64_t i = 0; i < size; ++i) {
    const float at = centre(i, step) - 0.5F, below = std::floor(at), fraction = at - below;
    const std::int64_t low = std::max<std::int64_t>(static_cast<std::int64_t>(below), 0);
    const std::int64_t high = std::min(static_cast<std::int64_t>(std::ceil(at)), in - 1);
    const std::int64_t first = std::min(low, in - table.taps);
    table.first.push_back(static_cast<std::int32_t>(first));
    table.weights[static_cast<std::size_t>((low - first) * size + i)] += 1 - fraction;
    table.weights[static_cast<std::size_t>((high - first) * size + i)] += fraction;
  }
}

/// tensorflow/core/kernels/image/scale_and_translate_op.cc, ComputeSpans with the triangle of radius 1.
void triangle(std::int64_t in, ResizeTable& table) {
  const std::int64_t size = table.size;
  const float scale = static_cast<float>(size) / static_cast<float>(in), step = 1.0F / scale;
  const float radius = std::max(step, 1.0F), inverse = 1.0F / radius;
  const auto clamped = [&](float place) {
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(place), 0, in - 1);
  };
  const auto begin_of = [&](float at) { return clamped(std::ceil(at - radius - 0.5F)); };
  const auto end_of = [&](float at) { return clamped(std::floor(at + radius - 0.5F)) + 1; };
  for (std::int64_t i = 0; i < size; ++i)
    table.taps = std::max(table.taps, end_of(centre(i, step)) - begin_of(centre(i, step)));
  table.weights.assign(static_cast<std::size_t>(table.taps * size), 0.0F);
  for (std::int64_t i = 0; i < size; ++i) {
    const float at = centre(i, step);
    const std::int64_t begin = begin_of(at), end = end_of(at), first = std::min(begin, in - table.taps);
    table.first.push_back(static_cast<std::int32_t>(first));
    const auto weight = [&](std::int64_t source) -> float& {
      return table.weights[static_cast<std::size_t>((source - first) * size + i)];
    };
    float sum = 0;
    for (std::int64_t source = begin; source < end; ++source) {
      weight(source) = std::max(0.0F, 1 - std::fabs((static_cast<float>(source) + 0.5F - at) * inverse));
      sum += weight(source);
    }
    for (std::int64_t source = begin; source < end; ++source) weight(source) *= 1.0F / sum;
  }
}

}  // namespace

ResizeTable make_resize_table(std::int64_t in, std::int64_t out, ResizeFilter filter, bool mirror) {
  ResizeTable table;
  table.size = out;
  table.first.reserve(static_cast<std::size_t>(out));
  if (filter == ResizeFilter::kNearest) nearest(in, table);
  if (filter == ResizeFilter::kBilinear) bilinear(in, table);
  if (filter == ResizeFilter::kTriangle) triangle(in, table);
  if (mirror) {
    std::reverse(table.first.begin(), table.first.end());
    for (auto row = table.weights.begin(); row != table.weights.end(); row += out) std::reverse(row, row + out);
  }
  return table;
}

}  // namespace dptrain::data
