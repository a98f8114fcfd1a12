#include "data/transforms/box.h"

#include <algorithm>
#include <cmath>

namespace dptrain::data {
namespace {

/// First place, and how many, of a row of `length`.
std::pair<std::int64_t, std::int64_t> places(std::int64_t length, float part, float place) {
  const auto whole = static_cast<float>(length);
  const float size = part * whole, start = place * (whole - size);
  const auto first = static_cast<std::int64_t>(std::ceil(start));
  const auto end = std::min(static_cast<std::int64_t>(std::ceil(start + size)), length);
  return {first, std::max<std::int64_t>(0, end - first)};
}

}  // namespace

Window box_of(const BoxDraw& draw, const Shape& image) {
  const auto [top, height] = places(image[0], draw.height, draw.y);
  const auto [left, width] = places(image[1], draw.width, draw.x);
  return {top, left, height, width};
}

}  // namespace dptrain::data
