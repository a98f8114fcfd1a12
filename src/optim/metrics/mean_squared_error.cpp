#include "optim/metrics/mean_squared_error.h"

namespace dptrain::optim {
namespace {

const RegisteredMetric kMeanSquaredErrorMetric =
    metric<MeanSquaredErrorMetricSpec>("MeanSquaredError", {"mean_squared_error", "mse", "MSE"})
        .smaller_is_better()
        .fits(compares_values);

}  // namespace
}  // namespace dptrain::optim
