#include "nn/cropping2d.h"

#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

Shape output(const Cropping2DSpec& spec, std::span<const Shape> in) {
  const Sides& c = spec.cropping;
  const std::int64_t h = in[0][0] - c.top - c.bottom, w = in[0][1] - c.left - c.right;
  if (h < 1 || w < 1)
    throw LayerError(fmt::format("cropping takes {} rows and {} columns, {{0}} has {} and {}", c.top + c.bottom,
                                 c.left + c.right, in[0][0], in[0][1]));
  return {h, w, in[0][2]};
}

const Registered kCropping2D =
    layer<Cropping2DSpec>("Cropping2D")
        .positional(key("cropping", &Cropping2DSpec::cropping).at_least(0).check(BoundedSides{}))
        .inputs(1)
        .of_rank(3)
        .output(output);

}  // namespace
}  // namespace dptrain::nn
