#include "nn/metrics/mean_io_u.h"

#include "core/format.h"

namespace dptrain::nn {
namespace {

constexpr double kIoUEpsilon = 1e-7;    // keras.backend.epsilon()
constexpr std::int64_t kMostIoU = 256;  // the table of so many classes is 512 KiB in every step's sums

std::string mean_io_u_fits(const MeanIoUSpec& spec, const MetricSubject& subject) {
  if (subject.classes() < 2)
    return fmt::format("compares the largest of a row's values, but output {} has one", subject.name);
  if (spec.num_classes < subject.classes())
    return fmt::format("num_classes is {}, but output {} has {}", spec.num_classes, subject.name, subject.classes());
  return "";
}

std::size_t mean_io_u_state(const MeanIoUSpec& spec, const MetricSubject&) {
  return static_cast<std::size_t>(spec.num_classes * spec.num_classes);
}

/// The state is the table [label][prediction].
double mean_io_u_value(const MeanIoUSpec& spec, const MetricSums& sums) {
  const auto classes = static_cast<std::size_t>(spec.num_classes);
  double sum = 0, occurring = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    double labels = 0, predictions = 0;
    for (std::size_t other = 0; other < classes; ++other) {
      labels += sums.state[c * classes + other];
      predictions += sums.state[other * classes + c];
    }
    const double both = sums.state[c * classes + c], either = labels + predictions - both;
    if (either <= 0) continue;
    sum += both / (either + kIoUEpsilon);
    occurring += 1;
  }
  return sum / (occurring + kIoUEpsilon);
}

const RegisteredMetric kMeanIoU =
    metric<MeanIoUSpec>("MeanIoU", {"mean_io_u"})
        .key(key("num_classes", &MeanIoUSpec::num_classes).required().at_least(2).at_most(kMostIoU))
        .key(key("ignore_class", &MeanIoUSpec::ignore_class))
        .example("num_classes: 4")
        .reads(MetricReads::kOrder)
        .larger_is_better()
        .fits(mean_io_u_fits)
        .state(mean_io_u_state)
        .value(mean_io_u_value);

}  // namespace
}  // namespace dptrain::nn
