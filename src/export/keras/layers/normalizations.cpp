#include "export/keras/keras_layer.h"
#include "layers/batch_normalization.h"
#include "layers/custom_scale_layer.h"
#include "layers/group_normalization.h"
#include "layers/layer_normalization.h"
#include "layers/layer_scale.h"
#include "layers/local_response_normalization.h"
#include "layers/normalization.h"
#include "layers/rescaling.h"

namespace dptrain::exporting::keras {
namespace {

const RegisteredLayer kBatchNormalization = layer<layers::BatchNormalizationSpec>()
                                                .unset({"beta_constraint", "gamma_constraint"})
                                                .in_call("inference_mode")
                                                .in_keras2()
                                                .leaves_out("synchronized");  // older releases do not know it

const RegisteredLayer kGroupNormalization =
    layer<layers::GroupNormalizationSpec>().unset({"beta_constraint", "gamma_constraint"});

const RegisteredLayer kLayerNormalization =
    layer<layers::LayerNormalizationSpec>()
        .writes("axis",
                [](const layers::LayerNormalizationSpec& spec) {
                  // An int where there is one axis: some releases drop a list.
                  return spec.axis.size() == 1 ? config::Node::integer(spec.axis[0]) : extents(Shape(spec.axis));
                })
        .unset({"beta_constraint", "gamma_constraint"});

/// One value stands for all channels; none: the layer has weights.
config::Node channel_values(const std::vector<double>& values) {
  if (values.empty()) return {};
  if (values.size() == 1) return real(values[0]);
  config::Node list = config::Node::sequence();
  for (const double value : values) list.items().push_back(real(value));
  return list;
}

const RegisteredLayer kNormalization =
    layer<layers::NormalizationSpec>()
        .writes("mean", [](const layers::NormalizationSpec& spec) { return channel_values(spec.mean); })
        .writes("variance", [](const layers::NormalizationSpec& spec) { return channel_values(spec.variance); });

const RegisteredLayer kRescaling =
    layer<layers::RescalingSpec>()
        .writes("scale", [](const layers::RescalingSpec& spec) { return channel_values(spec.scale.values); })
        .writes("offset", [](const layers::RescalingSpec& spec) { return channel_values(spec.offset.values); });

/// Of keras.applications: load_model() wants to be told where they are.
const RegisteredLayer kLayerScale = layer<layers::LayerScaleSpec>().custom_objects("scripts/interop/applications.py");

const RegisteredLayer kCustomScaleLayer =
    layer<layers::CustomScaleLayerSpec>().custom_objects("scripts/interop/applications.py");

/// TensorFlow's function, and no layer of Keras.
const RegisteredLayer kLocalResponseNormalization =
    layer<layers::LocalResponseNormalizationSpec>().custom_objects("scripts/interop/lrn.py");

}  // namespace
}  // namespace dptrain::exporting::keras
