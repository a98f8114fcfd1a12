#include "nn/losses/mean_squared_logarithmic_error.h"

#include "nn/loss.h"

namespace dptrain::nn {
namespace {

const RegisteredLoss kMeanSquaredLogarithmicError =
    loss<MeanSquaredLogarithmicErrorSpec>("MeanSquaredLogarithmicError", "mean_squared_logarithmic_error")
        .aliases({"msle", "MSLE"});

}  // namespace
}  // namespace dptrain::nn
