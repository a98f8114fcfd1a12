#include "layers/average.h"

#include "layers/layer.h"
#include "layers/merge.h"

namespace dptrain::layers {
namespace {

const Registered kAverage = layer<AverageSpec>("Average")
                                .inputs(2, -1)
                                .masks(MaskRule::kJoins)
                                .output([](const AverageSpec&, std::span<const Shape> in) { return broadcast(in); });

}  // namespace
}  // namespace dptrain::layers
