#include "nn/cropping3d.h"

#include <algorithm>

#include "core/format.h"
#include "nn/cropping2d.h"
#include "nn/layer.h"
#include "nn/volume_passes.h"

namespace dptrain::nn {
namespace {

Shape output(const Cropping3DSpec& spec, std::span<const Shape> in) {
  const auto taken = [](const Ends& ends) { return ends.before + ends.after; };
  const std::int64_t d = taken(spec.cropping.depth), h = taken(spec.cropping.height), w = taken(spec.cropping.width);
  const Shape out{in[0][0] - d, in[0][1] - h, in[0][2] - w, in[0][3]};
  if (std::min({out[0], out[1], out[2]}) < 1)
    throw LayerError(fmt::format("cropping takes {} frames, {} rows and {} columns, {{0}} has {}, {} and {}", d, h, w,
                                 in[0][0], in[0][1], in[0][2]));
  return out;
}

const Registered kCropping3D =
    layer<Cropping3DSpec>("Cropping3D")
        .positional(key("cropping", &Cropping3DSpec::cropping).at_least(0).check(BoundedVolume{}))
        .inputs(1)
        .of_rank(4)
        .output(output);

const ComputedInPasses kCropping3DPasses(+[](const Cropping3DSpec& spec) {
  VolumePasses passes{.frames = layer_family().make(Cropping2DSpec{within_frame(spec.cropping)})};
  const Ends& depth = spec.cropping.depth;
  if (depth.before + depth.after > 0) passes.depth = layer_family().make(Cropping2DSpec{along_depth(spec.cropping)});
  return passes;
});

}  // namespace
}  // namespace dptrain::nn
