#include "formats/keras/keras_layer.h"
#include "nn/normalization.h"

namespace dptrain::formats::keras {
namespace {

const RegisteredLayer kBatchNormalization = layer<nn::BatchNormalizationSpec>()
                                                .unset({"beta_constraint", "gamma_constraint"})
                                                .in_call("inference_mode")
                                                .in_keras2()
                                                .leaves_out("synchronized");  // older releases lack the argument

const RegisteredLayer kGroupNormalization =
    layer<nn::GroupNormalizationSpec>().unset({"beta_constraint", "gamma_constraint"});

const RegisteredLayer kLayerNormalization =
    layer<nn::LayerNormalizationSpec>()
        .writes("axis",
                [](const nn::LayerNormalizationSpec& spec) {
                  // An int where there is one axis: some releases drop a list.
                  return spec.axis.size() == 1 ? config::Node::integer(spec.axis[0]) : extents(Shape(spec.axis));
                })
        .unset({"beta_constraint", "gamma_constraint"});

/// One value applies to all channels; none: the layer has weights.
config::Node channel_values(const std::vector<double>& values) {
  if (values.empty()) return {};
  if (values.size() == 1) return real(values[0]);
  config::Node list = config::Node::sequence();
  for (const double value : values) list.items().push_back(real(value));
  return list;
}

const RegisteredLayer kNormalization =
    layer<nn::NormalizationSpec>()
        .writes("mean", [](const nn::NormalizationSpec& spec) { return channel_values(spec.mean); })
        .writes("variance", [](const nn::NormalizationSpec& spec) { return channel_values(spec.variance); });

const RegisteredLayer kRescaling =
    layer<nn::RescalingSpec>()
        .writes("scale", [](const nn::RescalingSpec& spec) { return channel_values(spec.scale.values); })
        .writes("offset", [](const nn::RescalingSpec& spec) { return channel_values(spec.offset.values); });

/// Classes of keras.applications: load_model() needs them in custom_objects.
const RegisteredLayer kLayerScale = layer<nn::LayerScaleSpec>().custom_objects("scripts/interop/applications.py");

const RegisteredLayer kCustomScaleLayer =
    layer<nn::CustomScaleLayerSpec>().custom_objects("scripts/interop/applications.py");

/// A function of TensorFlow, for which Keras has no layer.
const RegisteredLayer kLocalResponseNormalization =
    layer<nn::LocalResponseNormalizationSpec>().custom_objects("scripts/interop/lrn.py");

}  // namespace
}  // namespace dptrain::formats::keras
