#include "nn/losses/squared_hinge.h"

#include "nn/loss.h"

namespace dptrain::nn {
namespace {

const RegisteredLoss kSquaredHinge = loss<SquaredHingeSpec>("SquaredHinge", "squared_hinge");

}  // namespace
}  // namespace dptrain::nn
