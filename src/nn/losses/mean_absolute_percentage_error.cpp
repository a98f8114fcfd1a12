#include "nn/losses/mean_absolute_percentage_error.h"

#include "nn/loss.h"

namespace dptrain::nn {
namespace {

const RegisteredLoss kMeanAbsolutePercentageError =
    loss<MeanAbsolutePercentageErrorSpec>("MeanAbsolutePercentageError", "mean_absolute_percentage_error")
        .aliases({"mape", "MAPE"});

}  // namespace
}  // namespace dptrain::nn
