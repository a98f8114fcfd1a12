#include "data/encoders/number_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace dptrain::data {
namespace {

double most_frequent(const TrainingColumn& column) {
  std::map<double, std::int64_t> counts;
  column.numbers([&](std::span<const double> block) {
    for (const double number : block)
      if (!std::isnan(number)) ++counts[number];
  });
  const auto most = std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; });
  return most == counts.end() ? 0 : most->first;
}

}  // namespace

NumberSums sums_of(const TrainingColumn& column, const std::optional<double>& fill) {
  NumberSums sums;
  double sum = 0, squares = 0, shift = 0;
  bool shifted = false;
  column.numbers([&](std::span<const double> block) {
    for (double number : block) {
      if (std::isnan(number)) {
        ++sums.missing;
        if (!fill) continue;
        number = *fill;
      } else {
        ++sums.present;
      }
      if (!shifted) shift = number, shifted = true;  // near the mean: squares of large numbers would lose the variance
      const double distance = number - shift;
      sum += distance;
      squares += distance * distance;
    }
  });
  const auto count = static_cast<double>(sums.present + (fill ? sums.missing : 0));
  if (count == 0) return sums;
  sums.mean = shift + sum / count;
  sums.variance = std::max(0.0, squares / count - (sum / count) * (sum / count));
  return sums;
}

double fill_of(const MissingNumberRule& rule, const TrainingColumn& column) {
  if (rule.number) return *rule.number;
  switch (rule.rule) {
    case MissingNumber::kMean: return sums_of(column).mean;
    case MissingNumber::kMostFrequent: return most_frequent(column);
    case MissingNumber::kError: break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace dptrain::data
