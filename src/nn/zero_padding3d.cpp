#include "nn/zero_padding3d.h"

#include "nn/layer.h"
#include "nn/volume_passes.h"
#include "nn/zero_padding2d.h"

namespace dptrain::nn {
namespace {

Shape output(const ZeroPadding3DSpec& spec, std::span<const Shape> in) {
  const auto padded = [&](int axis, const Ends& ends) { return in[0][axis] + ends.before + ends.after; };
  const VolumeSides& p = spec.padding;
  return {padded(0, p.depth), padded(1, p.height), padded(2, p.width), in[0][3]};
}

const Registered kZeroPadding3D =
    layer<ZeroPadding3DSpec>("ZeroPadding3D")
        .positional(key("padding", &ZeroPadding3DSpec::padding).at_least(0).check(BoundedVolume{}))
        .inputs(1)
        .of_rank(4)
        .output(output);

const ComputedInPasses kZeroPadding3DPasses(+[](const ZeroPadding3DSpec& spec) {
  VolumePasses passes{.frames = layer_family().make(ZeroPadding2DSpec{within_frame(spec.padding)})};
  const Ends& depth = spec.padding.depth;
  if (depth.before + depth.after > 0) passes.depth = layer_family().make(ZeroPadding2DSpec{along_depth(spec.padding)});
  return passes;
});

}  // namespace
}  // namespace dptrain::nn
