#include "optim/losses/mean_absolute_percentage_error.h"

#include "optim/loss.h"

namespace dptrain::optim {
namespace {

const RegisteredLoss kMeanAbsolutePercentageError =
    loss<MeanAbsolutePercentageErrorSpec>("MeanAbsolutePercentageError", "mean_absolute_percentage_error")
        .aliases({"mape", "MAPE"});

}  // namespace
}  // namespace dptrain::optim
