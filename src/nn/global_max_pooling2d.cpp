#include "nn/global_max_pooling2d.h"

#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kGlobalMaxPooling2D = layer<GlobalMaxPooling2DSpec>("GlobalMaxPooling2D")
                                           .key(key("keepdims", &GlobalMaxPooling2DSpec::keepdims))
                                           .inputs(1)
                                           .of_rank(3)
                                           .output([](const GlobalMaxPooling2DSpec& spec, std::span<const Shape> in) {
                                             return spec.keepdims ? Shape{1, 1, in[0][2]} : Shape{in[0][2]};
                                           });

}  // namespace
}  // namespace dptrain::nn
