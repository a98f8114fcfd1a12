#include "data/transforms/draws.h"

#include <algorithm>
#include <cmath>

namespace dptrain::data {

std::string check_range(const std::vector<double>& range) {
  return range.size() == 2 && range[0] < range[1] ? "" : "must be [low, high] with low < high";
}

std::string check_factor(const std::vector<double>& factor) {
  if (factor.size() == 1) return factor[0] >= 0 ? "" : "must be >= 0, or [lower, upper]";
  return factor.size() == 2 && factor[0] <= factor[1] ? "" : "must be one number or [lower, upper]";
}

std::pair<double, double> factor_range(const std::vector<double>& factor) {
  return {factor.size() == 1 ? -factor[0] : factor[0], factor.back()};
}

std::string check_part(const std::vector<double>& factor) {
  if (factor.size() == 1) return "";
  return factor.size() == 2 && factor[0] <= factor[1] ? "" : "must be one number or [lower, upper]";
}

std::pair<double, double> part_range(const std::vector<double>& factor) {
  return {factor.size() == 1 ? 0 : factor[0], factor.back()};
}

namespace {

/// Uniform in (0, 1), 32 bits.
double open_uniform(RandomStream& stream) { return (stream.next_u32() + 0.5) * 0x1p-32; }

/// The logarithm of a draw from Gamma(alpha).
double draw_log_gamma(RandomStream& stream, double alpha) {
  if (alpha < 1) {  // Gamma(alpha) = Gamma(alpha + 1) * U^(1 / alpha)
    const double larger = draw_log_gamma(stream, alpha + 1);
    return larger + std::log(open_uniform(stream)) / alpha;
  }
  const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = stream.normal(), root = 1 + c * x;
    const double u = open_uniform(stream);
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(u) < x * x / 2 + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

}  // namespace

double draw_beta(RandomStream& stream, double alpha) {
  const double x = draw_log_gamma(stream, alpha), y = draw_log_gamma(stream, alpha);
  return 1 / (1 + std::exp(y - x));
}

namespace {

/// First position and number of positions of a side of the rectangle, in a row of `length`.
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
