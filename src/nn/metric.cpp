#include "nn/metric.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "config/diagnostics.h"
#include "core/error.h"
#include "core/format.h"

namespace dptrain::nn {
namespace {

/// Largest number of values of one metric in a log line.
constexpr std::size_t kMaxValues = 64;

[[noreturn]] void refuse_metric(const config::Typed& metric, const std::string& message) {
  throw config::error_at(ErrorKind::kUsage, metric.mark(), metric.name() + ": " + message);
}

}  // namespace

config::Family& metric_family() {
  static config::Family family("metric");
  return family;
}

const MetricType& metric_type(const config::Typed& metric) { return static_cast<const MetricType&>(metric.def()); }

std::vector<std::string> value_names(const config::Typed& metric, const MetricSubject& subject) {
  const MetricType& type = metric_type(metric);
  const std::string& name = type.log_name(metric.spec());
  const std::size_t count = type.value_count(metric.spec(), subject);
  if (count == 1) return {name};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(count, kMaxValues); ++i) names.push_back(fmt::format("{}_{}", name, i));
  return names;
}

ResolvedMetric resolve_metric(const config::Typed& metric, const MetricSubject& subject) {
  const MetricType& type = metric_type(metric);
  if (const std::string mismatch = type.mismatch(metric.spec(), subject); !mismatch.empty())
    refuse_metric(metric, mismatch);
  if (const std::size_t count = type.value_count(metric.spec(), subject); count > kMaxValues)
    refuse_metric(metric,
                  fmt::format("has {} values, but logs have room for at most {}; average them", count, kMaxValues));
  return {.metric = metric,
          .subject = subject,
          .names = value_names(metric, subject),
          .state = type.state(metric.spec(), subject)};
}

std::string has_one_row(const MetricSubject& subject) {
  if (subject.output.rank() == 1) return "";
  return fmt::format("needs one row of values per sample, but output {} is {}", subject.name, subject.output.str());
}

std::string compares_values(const MetricSubject& subject) {
  if (subject.labels == LabelKind::kDense || subject.output.elements() == 1) return "";
  return fmt::format("compares values, but the labels are class numbers and output {} is {}; try accuracy",
                     subject.name, subject.output.str());
}

std::string ranks_classes(const MetricSubject& subject) {
  if (subject.output.rank() == 0)
    return fmt::format("needs a row of class scores, but output {} is {}", subject.name, subject.output.str());
  if (subject.classes() < 2)
    return fmt::format("is always 1 with one output value (output {}); try binary_accuracy", subject.name);
  return "";
}

double before_sigmoid(double threshold) {
  if (threshold <= 0) return -std::numeric_limits<double>::infinity();
  if (threshold >= 1) return std::numeric_limits<double>::infinity();
  return std::log(threshold) - std::log1p(-threshold);
}

const MetricType& ResolvedMetric::type() const { return metric_type(metric); }

std::vector<double> ResolvedMetric::values(std::span<const double> sums, double weight) const {
  return type().values(metric.spec(), {.subject = subject, .state = sums, .weight = weight});
}

}  // namespace dptrain::nn
