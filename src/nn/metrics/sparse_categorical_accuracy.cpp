#include "nn/metrics/sparse_categorical_accuracy.h"

namespace dptrain::nn {
namespace {

const RegisteredMetric kSparseCategoricalAccuracy =
    metric<SparseCategoricalAccuracySpec>("SparseCategoricalAccuracy", {"sparse_categorical_accuracy"})
        .reads(MetricReads::kOrder)
        .share()
        .larger_is_better()
        .fits(ranks_classes);

}  // namespace
}  // namespace dptrain::nn
