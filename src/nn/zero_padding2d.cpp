#include "nn/zero_padding2d.h"

#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kZeroPadding2D =
    layer<ZeroPadding2DSpec>("ZeroPadding2D")
        .positional(key("padding", &ZeroPadding2DSpec::padding).at_least(0).check(BoundedSides{}))
        .inputs(1)
        .of_rank(3)
        .output([](const ZeroPadding2DSpec& spec, std::span<const Shape> in) {
          const auto& p = spec.padding;
          return Shape{in[0][0] + p.top + p.bottom, in[0][1] + p.left + p.right, in[0][2]};
        });

}  // namespace
}  // namespace dptrain::nn
