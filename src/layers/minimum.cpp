#include "layers/minimum.h"

#include "layers/layer.h"
#include "layers/merge.h"

namespace dptrain::layers {
namespace {

const Registered kMinimum =
    layer<MinimumSpec>("Minimum")
        .inputs(2, -1)
        .masks([](const MinimumSpec&, std::span<const Shape> in) { return mask_of_equal_steps(in); })
        .heeds_masks()
        .output([](const MinimumSpec&, std::span<const Shape> in) { return broadcast(in); })
        .backward_reads(BackwardReads{.input = true, .output = true});

}  // namespace
}  // namespace dptrain::layers
