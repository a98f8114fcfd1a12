#include "nn/average.h"

#include "nn/layer.h"
#include "nn/merge.h"

namespace dptrain::nn {
namespace {

const Registered kAverage = layer<AverageSpec>("Average")
                                .inputs(2, -1)
                                .masks(MaskRule::kJoins)
                                .output([](const AverageSpec&, std::span<const Shape> in) { return broadcast(in); });

}  // namespace
}  // namespace dptrain::nn
