#include "nn/global_average_pooling2d.h"

#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kGlobalAveragePooling2D =
    layer<GlobalAveragePooling2DSpec>("GlobalAveragePooling2D")
        .key(key("keepdims", &GlobalAveragePooling2DSpec::keepdims))
        .inputs(1)
        .of_rank(3)
        .output([](const GlobalAveragePooling2DSpec& spec, std::span<const Shape> in) {
          return spec.keepdims ? Shape{1, 1, in[0][2]} : Shape{in[0][2]};
        });

}  // namespace
}  // namespace dptrain::nn
