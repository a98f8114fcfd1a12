#include "layers/rescaling.h"

#include "layers/keras_export.h"
#include "layers/layer.h"

namespace dptrain::layers {
namespace {

const Registered kRescaling =
    layer<RescalingSpec>("Rescaling")
        .positional(key("scale", &RescalingSpec::scale).required())
        .key(key("offset", &RescalingSpec::offset))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .output([](const RescalingSpec&, std::span<const Shape> in) { return in[0]; })
        .keras([](const RescalingSpec& spec, std::span<const Shape>) {
          return keras_object({{"scale", keras_real(spec.scale)}, {"offset", keras_real(spec.offset)}});
        });

}  // namespace
}  // namespace dptrain::layers
