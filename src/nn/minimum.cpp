#include "nn/minimum.h"

#include "nn/layer.h"
#include "nn/merge.h"

namespace dptrain::nn {
namespace {

const Registered kMinimum =
    layer<MinimumSpec>("Minimum")
        .inputs(2, -1)
        .masks([](const MinimumSpec&, std::span<const Shape> in) { return mask_of_equal_steps(in); })
        .heeds_masks()
        .output([](const MinimumSpec&, std::span<const Shape> in) { return broadcast(in); })
        .backward_reads(BackwardReads{.input = true, .output = true});

}  // namespace
}  // namespace dptrain::nn
