#include "optim/losses/log_cosh.h"

#include "optim/loss.h"

namespace dptrain::optim {
namespace {

const RegisteredLoss kLogCosh = loss<LogCoshSpec>("LogCosh", "log_cosh");

}  // namespace
}  // namespace dptrain::optim
