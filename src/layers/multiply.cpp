#include "layers/multiply.h"

#include "layers/layer.h"
#include "layers/merge.h"

namespace dptrain::layers {
namespace {

const Registered kMultiply =
    layer<MultiplySpec>("Multiply")
        .inputs(2, -1)
        .masks([](const MultiplySpec&, std::span<const Shape> in) { return mask_of_equal_steps(in); })
        .heeds_masks()
        .output([](const MultiplySpec&, std::span<const Shape> in) { return broadcast(in); })
        .backward_reads(BackwardReads{.input = true});

}  // namespace
}  // namespace dptrain::layers
