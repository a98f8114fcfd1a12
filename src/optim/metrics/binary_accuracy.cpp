#include "optim/metrics/binary_accuracy.h"

namespace dptrain::optim {
namespace {

const RegisteredMetric kBinaryAccuracy = metric<BinaryAccuracySpec>("BinaryAccuracy", {"binary_accuracy"})
                                             .key(key("threshold", &BinaryAccuracySpec::threshold))
                                             .reads(MetricReads::kThreshold)
                                             .share_of_single_values()
                                             .larger_is_better()
                                             .fits(compares_values);

}  // namespace
}  // namespace dptrain::optim
