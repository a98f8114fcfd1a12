#include "optim/losses/mean_squared_error.h"

#include "optim/loss.h"

namespace dptrain::optim {
namespace {

const RegisteredLoss kMeanSquaredError =
    loss<MeanSquaredErrorSpec>("MeanSquaredError", "mean_squared_error").aliases({"mse", "MSE"});

}  // namespace
}  // namespace dptrain::optim
