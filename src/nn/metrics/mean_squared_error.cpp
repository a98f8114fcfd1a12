#include "nn/metrics/mean_squared_error.h"

namespace dptrain::nn {
namespace {

const RegisteredMetric kMeanSquaredErrorMetric =
    metric<MeanSquaredErrorMetricSpec>("MeanSquaredError", {"mean_squared_error", "mse", "MSE"})
        .smaller_is_better()
        .fits(compares_values);

}  // namespace
}  // namespace dptrain::nn
