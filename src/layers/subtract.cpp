#include "layers/subtract.h"

#include "layers/layer.h"
#include "layers/merge.h"

namespace dptrain::layers {
namespace {

const Registered kSubtract = layer<SubtractSpec>("Subtract")
                                 .inputs(2)
                                 .masks(MaskRule::kJoins)
                                 .output([](const SubtractSpec&, std::span<const Shape> in) { return broadcast(in); });

}  // namespace
}  // namespace dptrain::layers
