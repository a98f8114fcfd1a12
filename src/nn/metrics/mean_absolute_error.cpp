#include "nn/metrics/mean_absolute_error.h"

namespace dptrain::nn {
namespace {

const RegisteredMetric kMeanAbsoluteErrorMetric =
    metric<MeanAbsoluteErrorMetricSpec>("MeanAbsoluteError", {"mean_absolute_error", "mae", "MAE"})
        .smaller_is_better()
        .fits(compares_values);

}  // namespace
}  // namespace dptrain::nn
