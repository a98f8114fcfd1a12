#include "nn/up_sampling2d.h"

#include "core/format.h"
#include "nn/geometry.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

Shape output(const UpSampling2DSpec& spec, std::span<const Shape> in) {
  const std::int64_t h = in[0][0] * spec.size.h, w = in[0][1] * spec.size.w;
  if (h > kMaxExtent || w > kMaxExtent)
    throw LayerError(fmt::format("size {}x{} makes {}x{} of {}x{}, more than {}", spec.size.h, spec.size.w, h, w,
                                 in[0][0], in[0][1], kMaxExtent));
  return {h, w, in[0][2]};
}

const Registered kUpSampling2D = layer<UpSampling2DSpec>("UpSampling2D")
                                     .positional(key("size", &UpSampling2DSpec::size).at_least(1).check(Bounded{}))
                                     .key(key("interpolation", &UpSampling2DSpec::interpolation))
                                     .inputs(1)
                                     .of_rank(3)
                                     .output(output);

}  // namespace
}  // namespace dptrain::nn
