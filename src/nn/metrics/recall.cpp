#include "nn/metrics/recall.h"

namespace dptrain::nn {
namespace {

std::size_t recall_state(const RecallSpec& spec, const MetricSubject&) {
  return threshold_state(1, spec.effective().size());
}

std::size_t recall_count(const RecallSpec& spec, const MetricSubject&) { return spec.effective().size(); }

std::vector<double> recall_values(const RecallSpec& spec, const MetricSums& sums) {
  return spec.values(sums.state, [](const Confusion& at) {
    return share_of(at.true_positives, at.true_positives + at.false_negatives);
  });
}

const RegisteredMetric kRecall =
    metric<RecallSpec>("Recall", {"recall"})
        .key(key("thresholds", &RecallSpec::thresholds).check(thresholds_in_range))
        .key(key("top_k", &RecallSpec::top_k).at_least(1))
        .key(key("class_id", &RecallSpec::class_id).at_least(0))
        .reads(MetricReads::kThreshold)
        .larger_is_better()
        .fits([](const RecallSpec& spec, const MetricSubject& subject) { return counts_fit(spec, subject); })
        .state(recall_state)
        .values(recall_count, recall_values);

}  // namespace
}  // namespace dptrain::nn
