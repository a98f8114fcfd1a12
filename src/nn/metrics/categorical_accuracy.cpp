#include "nn/metrics/categorical_accuracy.h"

namespace dptrain::nn {
namespace {

const RegisteredMetric kCategoricalAccuracy =
    metric<CategoricalAccuracySpec>("CategoricalAccuracy", {"categorical_accuracy"})
        .reads(MetricReads::kOrder)
        .share()
        .larger_is_better()
        .fits(ranks_classes);

}  // namespace
}  // namespace dptrain::nn
