#include "nn/losses/log_cosh.h"

#include "nn/loss.h"

namespace dptrain::nn {
namespace {

const RegisteredLoss kLogCosh = loss<LogCoshSpec>("LogCosh", "log_cosh");

}  // namespace
}  // namespace dptrain::nn
