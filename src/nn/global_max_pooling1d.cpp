#include "nn/global_max_pooling1d.h"

#include "nn/global_max_pooling2d.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kGlobalMaxPooling1D =
    layer<GlobalMaxPooling1DSpec>("GlobalMaxPooling1D")
        .key(key("keepdims", &GlobalMaxPooling1DSpec::keepdims))
        .inputs(1)
        .of_rank(2)
        .output([](const GlobalMaxPooling1DSpec& spec, std::span<const Shape> in) {
          return spec.keepdims ? Shape{1, in[0][1]} : Shape{in[0][1]};
        })
        .computed_as(+[](const GlobalMaxPooling1DSpec& spec) { return GlobalMaxPooling2DSpec{spec.keepdims}; });

}  // namespace
}  // namespace dptrain::nn
