#include "nn/multiply.h"

#include "nn/layer.h"
#include "nn/merge.h"

namespace dptrain::nn {
namespace {

const Registered kMultiply =
    layer<MultiplySpec>("Multiply")
        .inputs(2, -1)
        .masks([](const MultiplySpec&, std::span<const Shape> in) { return mask_of_equal_steps(in); })
        .heeds_masks()
        .output([](const MultiplySpec&, std::span<const Shape> in) { return broadcast(in); })
        .backward_reads(BackwardReads{.input = true});

}  // namespace
}  // namespace dptrain::nn
