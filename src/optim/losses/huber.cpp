#include "optim/losses/huber.h"

#include "optim/loss.h"

namespace dptrain::optim {
namespace {

const RegisteredLoss kHuber = loss<HuberSpec>("Huber", "huber").positional(key("delta", &HuberSpec::delta).above(0));

}  // namespace
}  // namespace dptrain::optim
