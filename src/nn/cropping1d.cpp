#include "nn/cropping1d.h"

#include "core/format.h"
#include "nn/cropping2d.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

Shape output(const Cropping1DSpec& spec, std::span<const Shape> in) {
  const std::int64_t taken = spec.cropping.before + spec.cropping.after, steps = in[0][0] - taken;
  if (steps < 1) throw LayerError(fmt::format("cropping takes {} steps, {{0}} has {}", taken, in[0][0]));
  return {steps, in[0][1]};
}

const Registered kCropping1D =
    layer<Cropping1DSpec>("Cropping1D")
        .positional(key("cropping", &Cropping1DSpec::cropping).at_least(0).check(BoundedSides{}))
        .inputs(1)
        .of_rank(2)
        .output(output)
        .computed_as(+[](const Cropping1DSpec& spec) { return Cropping2DSpec{along(spec.cropping)}; });

}  // namespace
}  // namespace dptrain::nn
