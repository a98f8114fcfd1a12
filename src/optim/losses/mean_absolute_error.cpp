#include "optim/losses/mean_absolute_error.h"

#include "optim/loss.h"

namespace dptrain::optim {
namespace {

const RegisteredLoss kMeanAbsoluteError =
    loss<MeanAbsoluteErrorSpec>("MeanAbsoluteError", "mean_absolute_error").aliases({"mae", "MAE"});

}  // namespace
}  // namespace dptrain::optim
