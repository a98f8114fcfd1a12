#include "nn/zero_padding1d.h"

#include "nn/layer.h"
#include "nn/zero_padding2d.h"

namespace dptrain::nn {
namespace {

const Registered kZeroPadding1D =
    layer<ZeroPadding1DSpec>("ZeroPadding1D")
        .positional(key("padding", &ZeroPadding1DSpec::padding).at_least(0).check(BoundedSides{}))
        .inputs(1)
        .of_rank(2)
        .output([](const ZeroPadding1DSpec& spec, std::span<const Shape> in) {
          return Shape{in[0][0] + spec.padding.before + spec.padding.after, in[0][1]};
        })
        .computed_as(+[](const ZeroPadding1DSpec& spec) { return ZeroPadding2DSpec{along(spec.padding)}; });

}  // namespace
}  // namespace dptrain::nn
