#include "nn/metrics/root_mean_squared_error.h"

#include <cmath>

namespace dptrain::nn {
namespace {

const RegisteredMetric kRootMeanSquaredError =
    metric<RootMeanSquaredErrorSpec>("RootMeanSquaredError", {"root_mean_squared_error"})
        .smaller_is_better()
        .fits(compares_values)
        .value([](const RootMeanSquaredErrorSpec&, const MetricSums& sums) {
          return std::sqrt(sums.state[0] / sums.weight);
        });

}  // namespace
}  // namespace dptrain::nn
