#include "nn/maximum.h"

#include "nn/layer.h"
#include "nn/merge.h"

namespace dptrain::nn {
namespace {

const Registered kMaximum =
    layer<MaximumSpec>("Maximum")
        .inputs(2, -1)
        .masks([](const MaximumSpec&, std::span<const Shape> in) { return mask_of_equal_steps(in); })
        .heeds_masks()
        .output([](const MaximumSpec&, std::span<const Shape> in) { return broadcast(in); })
        .backward_reads(BackwardReads{.input = true, .output = true});

}  // namespace
}  // namespace dptrain::nn
