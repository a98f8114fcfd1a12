#include "nn/losses/mean_absolute_error.h"

#include "nn/loss.h"

namespace dptrain::nn {
namespace {

const RegisteredLoss kMeanAbsoluteError =
    loss<MeanAbsoluteErrorSpec>("MeanAbsoluteError", "mean_absolute_error").aliases({"mae", "MAE"});

}  // namespace
}  // namespace dptrain::nn
