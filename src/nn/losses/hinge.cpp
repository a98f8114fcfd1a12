#include "nn/losses/hinge.h"

#include "nn/loss.h"

namespace dptrain::nn {
namespace {

const RegisteredLoss kHinge = loss<HingeSpec>("Hinge", "hinge");

}  // namespace
}  // namespace dptrain::nn
