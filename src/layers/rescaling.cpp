#include "layers/rescaling.h"

#include "layers/layer.h"

namespace dptrain::layers {
namespace {

const Registered kRescaling = layer<RescalingSpec>("Rescaling")
                                  .positional(key("scale", &RescalingSpec::scale).required())
                                  .key(key("offset", &RescalingSpec::offset))
                                  .inputs(1)
                                  .masks(MaskRule::kPasses)
                                  .output([](const RescalingSpec&, std::span<const Shape> in) { return in[0]; });

}  // namespace
}  // namespace dptrain::layers
