#include "nn/subtract.h"

#include "nn/layer.h"
#include "nn/merge.h"

namespace dptrain::nn {
namespace {

const Registered kSubtract = layer<SubtractSpec>("Subtract")
                                 .inputs(2)
                                 .masks(MaskRule::kJoins)
                                 .output([](const SubtractSpec&, std::span<const Shape> in) { return broadcast(in); });

}  // namespace
}  // namespace dptrain::nn
