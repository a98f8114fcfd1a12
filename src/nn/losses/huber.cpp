#include "nn/losses/huber.h"

#include "nn/loss.h"

namespace dptrain::nn {
namespace {

const RegisteredLoss kHuber = loss<HuberSpec>("Huber", "huber").positional(key("delta", &HuberSpec::delta).above(0));

}  // namespace
}  // namespace dptrain::nn
