#include "nn/metrics/precision.h"

namespace dptrain::nn {
namespace {

std::size_t precision_state(const PrecisionSpec& spec, const MetricSubject&) {
  return threshold_state(1, spec.effective().size());
}

std::size_t precision_count(const PrecisionSpec& spec, const MetricSubject&) { return spec.effective().size(); }

std::vector<double> precision_values(const PrecisionSpec& spec, const MetricSums& sums) {
  return spec.values(sums.state, [](const Confusion& at) {
    return share_of(at.true_positives, at.true_positives + at.false_positives);
  });
}

const RegisteredMetric kPrecision =
    metric<PrecisionSpec>("Precision", {"precision"})
        .key(key("thresholds", &PrecisionSpec::thresholds).check(thresholds_in_range))
        .key(key("top_k", &PrecisionSpec::top_k).at_least(1))
        .key(key("class_id", &PrecisionSpec::class_id).at_least(0))
        .reads(MetricReads::kThreshold)
        .larger_is_better()
        .fits([](const PrecisionSpec& spec, const MetricSubject& subject) { return counts_fit(spec, subject); })
        .state(precision_state)
        .values(precision_count, precision_values);

}  // namespace
}  // namespace dptrain::nn
