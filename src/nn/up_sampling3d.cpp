#include "nn/up_sampling3d.h"

#include <algorithm>

#include "core/format.h"
#include "nn/layer.h"
#include "nn/up_sampling2d.h"
#include "nn/volume_passes.h"

namespace dptrain::nn {
namespace {

Shape output(const UpSampling3DSpec& spec, std::span<const Shape> in) {
  const Size3& size = spec.size;
  const Shape out{in[0][0] * size.d, in[0][1] * size.h, in[0][2] * size.w, in[0][3]};
  if (std::max({out[0], out[1], out[2]}) > kMaxExtent)
    throw LayerError(fmt::format("size {}x{}x{} makes {}x{}x{} of {}x{}x{}, more than {}", size.d, size.h, size.w,
                                 out[0], out[1], out[2], in[0][0], in[0][1], in[0][2], kMaxExtent));
  return out;
}

const Registered kUpSampling3D =
    layer<UpSampling3DSpec>("UpSampling3D")
        .positional(key("size", &UpSampling3DSpec::size).at_least(1).check(BoundedVolume{}))
        .inputs(1)
        .of_rank(4)
        .output(output);

const ComputedInPasses kUpSampling3DPasses(+[](const UpSampling3DSpec& spec) {
  VolumePasses passes{.frames = layer_family().make(UpSampling2DSpec{.size = within_frame(spec.size)})};
  if (spec.size.d > 1) passes.depth = layer_family().make(UpSampling2DSpec{.size = along_depth(spec.size)});
  return passes;
});

}  // namespace
}  // namespace dptrain::nn
