#include "nn/layer_scale.h"

#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

Shape output(const LayerScaleSpec& spec, std::span<const Shape> in) {
  if (in[0].rank() == 0 || in[0].back() != spec.projection_dim)
    throw LayerError(fmt::format("projection_dim is {}, expected the extent of the last axis of {{0}}, which is {}",
                                 spec.projection_dim, in[0].str()));
  return in[0];
}

const Registered kLayerScale =
    layer<LayerScaleSpec>("LayerScale")
        .positional(key("init_values", &LayerScaleSpec::init_values).required())
        .key(key("projection_dim", &LayerScaleSpec::projection_dim).required().at_least(1))
        .inputs(1)
        .output(output)
        .weights([](const LayerScaleSpec& spec, std::span<const Shape>) {
          return std::vector<WeightDef>{{.name = "gamma",
                                         .shape = {spec.projection_dim},
                                         .initializer = Initializer{Constant{spec.init_values}}}};
        })
        .backward_reads(BackwardReads{.input_to_train = true});

}  // namespace
}  // namespace dptrain::nn
