#include "nn/global_max_pooling3d.h"

#include "nn/global_max_pooling2d.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kGlobalMaxPooling3D =
    layer<GlobalMaxPooling3DSpec>("GlobalMaxPooling3D")
        .key(key("keepdims", &GlobalMaxPooling3DSpec::keepdims))
        .inputs(1)
        .of_rank(4)
        .output([](const GlobalMaxPooling3DSpec& spec, std::span<const Shape> in) {
          return spec.keepdims ? Shape{1, 1, 1, in[0][3]} : Shape{in[0][3]};
        })
        .computed_as(+[](const GlobalMaxPooling3DSpec& spec) { return GlobalMaxPooling2DSpec{spec.keepdims}; });

}  // namespace
}  // namespace dptrain::nn
