#include "data/encoders/number_sums.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"

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

NumberSums sums_of(const TrainingColumn& column) {
  if (const auto known = column.sums()) return *known;
  NumberSums sums;
  double sum = 0, squares = 0, shift = 0;
  column.numbers([&](std::span<const double> block) {
    for (const double number : block) {
      if (std::isnan(number)) {
        ++sums.missing;
        continue;
      }
      if (sums.present++ == 0) shift = number;  // near the mean: squares of large numbers would lose the variance
      const double distance = number - shift;
      sum += distance;
      squares += distance * distance;
    }
  });
  if (sums.present == 0) return sums;
  const auto count = static_cast<double>(sums.present);
  sums.mean = shift + sum / count;
  sums.variance = std::max(0.0, squares / count - (sum / count) * (sum / count));
  return sums;
}

NumberSums filled(const NumberSums& sums, double fill) {
  if (sums.missing == 0) return sums;
  const auto present = static_cast<double>(sums.present), missing = static_cast<double>(sums.missing);
  const double all = present + missing, mean = (present * sums.mean + missing * fill) / all;
  const auto square = [](double x) { return x * x; };
  return {.present = sums.present,
          .missing = sums.missing,
          .mean = mean,
          .variance = (present * (sums.variance + square(sums.mean - mean)) + missing * square(fill - mean)) / all};
}

std::optional<double> fill_of(const MissingNumberRule& rule, const TrainingColumn& column, const NumberSums& sums) {
  if (rule.number) return rule.number;
  switch (rule.rule) {
    case MissingNumber::kMean: return sums.mean;
    case MissingNumber::kMostFrequent: return most_frequent(column);
    case MissingNumber::kError: break;
  }
  return std::nullopt;
}

double present(double number, const std::optional<double>& fill) {
  if (!std::isnan(number)) return number;
  if (!fill) throw Error(ErrorKind::kData, "a number is missing, and `missing: error` refuses that");
  return *fill;
}

}  // namespace dptrain::data
