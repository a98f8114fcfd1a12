#include "layers/maximum.h"

#include "layers/layer.h"
#include "layers/merge.h"

namespace dptrain::layers {
namespace {

const Registered kMaximum =
    layer<MaximumSpec>("Maximum")
        .inputs(2, -1)
        .masks([](const MaximumSpec&, std::span<const Shape> in) { return mask_of_equal_steps(in); })
        .heeds_masks()
        .output([](const MaximumSpec&, std::span<const Shape> in) { return broadcast(in); })
        .backward_reads(BackwardReads{.input = true, .output = true});

}  // namespace
}  // namespace dptrain::layers
