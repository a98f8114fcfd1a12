// The layers whose arguments in Keras differ from the keys of their schema: a row for each type, or for types with the
// same differences.

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "formats/keras/keras_layer.h"
#include "graph/definitions.h"
#include "nn/attention.h"
#include "nn/convolutions.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/normalization.h"
#include "nn/pooling.h"
#include "nn/reshaping.h"
#include "nn/resizing.h"
#include "nn/wrappers.h"

namespace dptrain::formats::keras {
namespace {

using config::Node;

// Inputs

Node batch_shape(const nn::InputSpec& spec) {
  Node batch = extents(spec.shape);
  batch.items().insert(batch.items().begin(), Node());
  return batch;
}

/// Keras 2 refuses other keys.
const RegisteredLayer kInput = layer<nn::InputSpec>()
                                   .class_name("InputLayer")
                                   .has_only_name()
                                   .writes("shape", batch_shape)
                                   .last("sparse", Node::boolean(false))
                                   .in_keras2()
                                   .renamed("shape", "batch_input_shape")
                                   .last("ragged", Node::boolean(false))
                                   .in_keras3()
                                   .renamed("shape", "batch_shape");

const RegisteredLayer kEmbedding = layer<nn::EmbeddingSpec>()
                                       .ignores({"input_length"})
                                       .after("embeddings_regularizer", "activity_regularizer", Node())
                                       .after("activity_regularizer", "embeddings_constraint", Node())
                                       .in_keras2()
                                       .unset({"input_length"});

// Dense and convolutions

const RegisteredLayer kDense =
    layer<nn::DenseSpec>().unset({"activity_regularizer", "kernel_constraint", "bias_constraint"});

constexpr auto kConvolution = [](auto row) {
  return row.after("padding", "data_format", channels_last())
      .unset({"activity_regularizer", "kernel_constraint", "bias_constraint"});
};
const RegisteredLayers<nn::Conv1DSpec, nn::Conv2DSpec, nn::Conv3DSpec> kConvolutions(kConvolution);
const RegisteredLayers<nn::Conv1DTransposeSpec, nn::Conv2DTransposeSpec, nn::Conv3DTransposeSpec> kTransposed(
    [](auto row) { return kConvolution(row).last("output_padding"); });

/// Keras 2 writes arguments of Conv2D into these two kinds and does not use them.
const RegisteredLayers<nn::DepthwiseConv1DSpec, nn::DepthwiseConv2DSpec> kDepthwise([](auto row) {
  return row.ignores({"kernel_initializer", "filters"})
      .after("depth_multiplier", "data_format", channels_last())
      .unset({"activity_regularizer", "depthwise_constraint", "bias_constraint"});
});
const RegisteredLayers<nn::SeparableConv1DSpec, nn::SeparableConv2DSpec> kSeparable([](auto row) {
  return row.ignores({"kernel_initializer", "filters"})
      .after("padding", "data_format", channels_last())
      .unset({"activity_regularizer", "depthwise_constraint", "pointwise_constraint", "bias_constraint"});
});

// Poolings

/// Always with `strides`, even if they equal `pool_size`.
const RegisteredLayers<nn::MaxPooling1DSpec, nn::MaxPooling2DSpec, nn::MaxPooling3DSpec, nn::AveragePooling1DSpec,
                       nn::AveragePooling2DSpec, nn::AveragePooling3DSpec>
    kPoolings([](auto row) {
      return row.writes("strides", [](const auto& spec) { return size(spec.strides.value_or(spec.pool_size)); })
          .last("data_format", channels_last());
    });

const RegisteredLayers<nn::GlobalAveragePooling1DSpec, nn::GlobalAveragePooling2DSpec, nn::GlobalAveragePooling3DSpec,
                       nn::GlobalMaxPooling1DSpec, nn::GlobalMaxPooling2DSpec, nn::GlobalMaxPooling3DSpec>
    kGlobalPoolings([](auto row) { return row.first("data_format", channels_last()); });

// Shapes

const RegisteredLayers<nn::FlattenSpec, nn::Cropping2DSpec, nn::Cropping3DSpec, nn::ZeroPadding2DSpec,
                       nn::ZeroPadding3DSpec, nn::UpSampling3DSpec>
    kShapes([](auto row) { return row.last("data_format", channels_last()); });
const RegisteredLayer kUpSampling2D = layer<nn::UpSampling2DSpec>().after("size", "data_format", channels_last());
const RegisteredLayer kResizing = layer<nn::ResizingSpec>().ignores({"fill_*"});  // used with pad_to_aspect_ratio only

// Activations, dropout

/// Keras 2 accepts only the older name, and Keras 3 accepts it in an .h5.
const RegisteredLayer kLeakyReLU = layer<nn::LeakyReLUSpec>().in_keras2().renamed("negative_slope", "alpha");

const RegisteredLayer kPReLU = layer<nn::PReLUSpec>()
                                   .after("alpha_regularizer", "alpha_constraint", Node())
                                   .writes("shared_axes", [](const nn::PReLUSpec& spec) {
                                     return spec.shared_axes.rank() > 0 ? extents(spec.shared_axes) : Node();
                                   });

const RegisteredLayer kDropout = layer<nn::DropoutSpec>().unset({"seed"});
const RegisteredLayer kSpatialDropout1D = layer<nn::SpatialDropout1DSpec>().without_trainable();
const RegisteredLayers<nn::SpatialDropout2DSpec, nn::SpatialDropout3DSpec> kSpatialDropout([](auto row) {
  return row.last("data_format", channels_last()).without_trainable();
});

// Normalizations

const RegisteredLayer kBatchNormalization = layer<nn::BatchNormalizationSpec>()
                                                .unset({"beta_constraint", "gamma_constraint"})
                                                .in_call("inference_mode")
                                                .in_keras2()
                                                .omits("synchronized");  // older releases lack the argument

const RegisteredLayer kGroupNormalization =
    layer<nn::GroupNormalizationSpec>().unset({"beta_constraint", "gamma_constraint"});

/// A single axis is an int, because some releases drop a list.
const RegisteredLayer kLayerNormalization =
    layer<nn::LayerNormalizationSpec>()
        .writes("axis",
                [](const nn::LayerNormalizationSpec& spec) {
                  return spec.axis.size() == 1 ? Node::integer(spec.axis[0]) : extents(Shape(spec.axis));
                })
        .unset({"beta_constraint", "gamma_constraint"});

/// One value applies to all channels; none: the layer has weights.
Node channel_values(const std::vector<double>& values) {
  if (values.empty()) return {};
  if (values.size() == 1) return real(values[0]);
  Node list = Node::sequence();
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

// Attention

Node list_or_null(const std::vector<std::int64_t>& extents) {
  return extents.empty() ? Node() : config::Value<std::vector<std::int64_t>>::write(extents);
}

/// Keras 2 writes the shapes that the layer was built for.
const RegisteredLayer kMultiHeadAttention =
    layer<nn::MultiHeadAttentionSpec>()
        .has_separate_inputs()
        .ignores({"*_shape"})
        .in_call("use_causal_mask")
        .writes("output_shape", [](const nn::MultiHeadAttentionSpec& s) { return list_or_null(s.output_shape); })
        .writes("attention_axes", [](const nn::MultiHeadAttentionSpec& s) { return list_or_null(s.attention_axes); })
        .unset({"activity_regularizer", "kernel_constraint", "bias_constraint"});

/// Keras 3 reads the text "dot" in an .h5 as its function of that name, and then rejects the layer.
const RegisteredLayer kAttention =
    layer<nn::AttentionSpec>().in_call("use_causal_mask").omits_if("score_mode", [](const nn::AttentionSpec& s) {
      return s.score_mode == nn::ScoreMode::kDot;
    });
const RegisteredLayer kAdditiveAttention = layer<nn::AdditiveAttentionSpec>().in_call("use_causal_mask");

/// A layer of KerasHub, written with its registered class name. hierarchical_alpha is for longer sequences.
const RegisteredLayer kPositionEmbedding = layer<nn::PositionEmbeddingSpec>()
                                               .class_name("keras_hub>PositionEmbedding")
                                               .custom_objects("scripts/interop/position_embedding.py")
                                               .ignores({"hierarchical_alpha"});

// Recurrent layers and wrappers

/// Keras 3 takes the initial state by keyword only.
constexpr auto kRecurrent = [](auto row) {
  return row.keyword("initial_state")
      .unset({"activity_regularizer", "kernel_constraint", "recurrent_constraint", "bias_constraint"});
};
const RegisteredLayers<nn::LSTMSpec, nn::GRUSpec, nn::SimpleRNNSpec> kRecurrentLayers(kRecurrent);
const RegisteredLayers<nn::ConvLSTM2DSpec> kConvLSTM2D([](auto row) {
  return kRecurrent(row).after("padding", "data_format", channels_last());
});

/// Writes a layer that is an argument of another one in a form that Keras 2 and Keras 3 both load: class and config.
/// The config's `name` derives from the class.
Node wrapped_layer(const config::Typed& layer) {
  Node own = Node::map();
  own.set("name", text(graph::automatic_base(layer.name())));
  if (layer_form(layer).has_trainable) own.set("trainable", Node::boolean(true));
  own.set("dtype", text("float32"));
  const Node arguments = layer_arguments(layer);
  for (const Node::Entry& entry : arguments.entries()) own.set(entry.key, entry.value);
  return object({{"module", text("keras.layers")},
                 {"class_name", text(class_name(layer))},
                 {"config", std::move(own)},
                 {"registered_name", {}}});
}

/// Whether two layers differ in names and direction only. The depth of the text has been checked.
bool alike(const nlohmann::json& a, const nlohmann::json& b) {
  static const std::set<std::string> own{"name", "go_backwards", "build_config", "shared_object_id"};
  if (!a.is_object() || !b.is_object()) return a == b;
  const auto counts = [](const auto& item) { return !own.contains(item.key()); };
  const auto there = [&](const auto& item) {
    return !counts(item) || (b.contains(item.key()) && alike(item.value(), b.at(item.key())));
  };
  return std::ranges::count_if(a.items(), counts) == std::ranges::count_if(b.items(), counts) &&
         std::ranges::all_of(a.items(), there);
}

bool read_bidirectional(const std::string& key, const nlohmann::json& config, std::vector<std::string>& errors) {
  const bool is_null = config.at(key).is_null();
  if (key == "merge_mode" && is_null)
    errors.push_back("merge_mode None is not supported: dptrain's layer gives one output");
  if (key != "backward_layer" || is_null) return key == "merge_mode" && is_null;
  if (!alike(config.at(key), config.value("layer", nlohmann::json())))  // Keras 3 always writes it
    errors.push_back("its backward_layer has other settings than its layer, which is not supported");
  return true;
}

/// Written without `backward_layer`, which Keras derives from the other.
const RegisteredLayer kBidirectional =
    layer<nn::BidirectionalSpec>()
        .keyword("initial_state")
        .reads(read_bidirectional)
        .writes("layer", [](const nn::BidirectionalSpec& spec) { return wrapped_layer(spec.layer); });
const RegisteredLayer kTimeDistributed = layer<nn::TimeDistributedSpec>().writes(
    "layer", [](const nn::TimeDistributedSpec& spec) { return wrapped_layer(spec.layer); });

// Layers that Keras does not have: load_model() needs their classes in custom_objects.

const RegisteredLayers<nn::StochasticDepthSpec, nn::LayerScaleSpec, nn::CustomScaleLayerSpec> kApplications(
    [](auto row) { return row.custom_objects("scripts/interop/applications.py"); });
const RegisteredLayer kLocalResponseNormalization =
    layer<nn::LocalResponseNormalizationSpec>().custom_objects("scripts/interop/lrn.py");

}  // namespace
}  // namespace dptrain::formats::keras
