#include "optim/losses/mean_squared_logarithmic_error.h"

#include "optim/loss.h"

namespace dptrain::optim {
namespace {

const RegisteredLoss kMeanSquaredLogarithmicError =
    loss<MeanSquaredLogarithmicErrorSpec>("MeanSquaredLogarithmicError", "mean_squared_logarithmic_error")
        .aliases({"msle", "MSLE"});

}  // namespace
}  // namespace dptrain::optim
