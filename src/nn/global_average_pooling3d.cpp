#include "nn/global_average_pooling3d.h"

#include "nn/global_average_pooling2d.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kGlobalAveragePooling3D =
    layer<GlobalAveragePooling3DSpec>("GlobalAveragePooling3D")
        .key(key("keepdims", &GlobalAveragePooling3DSpec::keepdims))
        .inputs(1)
        .of_rank(4)
        .output([](const GlobalAveragePooling3DSpec& spec, std::span<const Shape> in) {
          return spec.keepdims ? Shape{1, 1, 1, in[0][3]} : Shape{in[0][3]};
        })
        .computed_as(+[](const GlobalAveragePooling3DSpec& spec) { return GlobalAveragePooling2DSpec{spec.keepdims}; });

}  // namespace
}  // namespace dptrain::nn
