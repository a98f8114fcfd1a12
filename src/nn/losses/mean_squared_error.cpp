#include "nn/losses/mean_squared_error.h"

#include "nn/loss.h"

namespace dptrain::nn {
namespace {

const RegisteredLoss kMeanSquaredError =
    loss<MeanSquaredErrorSpec>("MeanSquaredError", "mean_squared_error").aliases({"mse", "MSE"});

}  // namespace
}  // namespace dptrain::nn
