#include "nn/metrics/binary_accuracy.h"

namespace dptrain::nn {
namespace {

const RegisteredMetric kBinaryAccuracy = metric<BinaryAccuracySpec>("BinaryAccuracy", {"binary_accuracy"})
                                             .key(key("threshold", &BinaryAccuracySpec::threshold))
                                             .reads(MetricReads::kThreshold)
                                             .share_of_single_values()
                                             .larger_is_better()
                                             .fits(compares_values);

}  // namespace
}  // namespace dptrain::nn
