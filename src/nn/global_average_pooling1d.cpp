#include "nn/global_average_pooling1d.h"

#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kGlobalAveragePooling1D =
    layer<GlobalAveragePooling1DSpec>("GlobalAveragePooling1D")
        .key(key("keepdims", &GlobalAveragePooling1DSpec::keepdims))
        .inputs(1)
        .of_rank(2)
        .output([](const GlobalAveragePooling1DSpec& spec, std::span<const Shape> in) {
          return spec.keepdims ? Shape{1, in[0][1]} : Shape{in[0][1]};
        })
        .masks(MaskRule::kEnds)
        .heeds_masks()
        .backward_reads(BackwardReads{.masks = true});

}  // namespace
}  // namespace dptrain::nn
