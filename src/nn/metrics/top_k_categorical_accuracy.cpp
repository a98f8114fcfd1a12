#include "nn/metrics/top_k_categorical_accuracy.h"

#include "nn/metrics/top_k.h"

namespace dptrain::nn {
namespace {

const RegisteredMetric kTopKCategoricalAccuracy =
    metric<TopKCategoricalAccuracySpec>("TopKCategoricalAccuracy", {"top_k_categorical_accuracy"})
        .key(key("k", &TopKCategoricalAccuracySpec::k).at_least(1))
        .example("k: 2")
        .reads(MetricReads::kOrder)
        .share()
        .larger_is_better()
        .fits([](const TopKCategoricalAccuracySpec& spec, const MetricSubject& subject) {
          return top_k_misfit(spec.k, subject);
        });

}  // namespace
}  // namespace dptrain::nn
