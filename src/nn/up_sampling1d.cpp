#include "nn/up_sampling1d.h"

#include "core/format.h"
#include "nn/geometry.h"
#include "nn/layer.h"
#include "nn/up_sampling2d.h"

namespace dptrain::nn {
namespace {

Shape output(const UpSampling1DSpec& spec, std::span<const Shape> in) {
  const std::int64_t steps = in[0][0] * spec.size;
  if (steps > kMaxExtent)
    throw LayerError(fmt::format("size {} makes {} steps of {}, more than {}", spec.size, steps, in[0][0], kMaxExtent));
  return {steps, in[0][1]};
}

const Registered kUpSampling1D = layer<UpSampling1DSpec>("UpSampling1D")
                                     .positional(key("size", &UpSampling1DSpec::size).at_least(1).check(Bounded{}))
                                     .inputs(1)
                                     .of_rank(2)
                                     .output(output)
                                     .computed_as(+[](const UpSampling1DSpec& spec) {
                                       return UpSampling2DSpec{.size = {1, spec.size}};
                                     });

}  // namespace
}  // namespace dptrain::nn
