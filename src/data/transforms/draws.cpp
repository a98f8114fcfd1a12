#include "data/transforms/draws.h"

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

}  // namespace dptrain::data
