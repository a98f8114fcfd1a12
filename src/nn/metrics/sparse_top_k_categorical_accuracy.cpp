#include "nn/metrics/sparse_top_k_categorical_accuracy.h"

#include "nn/metrics/top_k.h"

namespace dptrain::nn {
namespace {

const RegisteredMetric kSparseTopKCategoricalAccuracy =
    metric<SparseTopKCategoricalAccuracySpec>("SparseTopKCategoricalAccuracy", {"sparse_top_k_categorical_accuracy"})
        .key(key("k", &SparseTopKCategoricalAccuracySpec::k).at_least(1))
        .example("k: 2")
        .reads(MetricReads::kOrder)
        .share()
        .larger_is_better()
        .fits([](const SparseTopKCategoricalAccuracySpec& spec, const MetricSubject& subject) {
          return top_k_misfit(spec.k, subject);
        });

}  // namespace
}  // namespace dptrain::nn
