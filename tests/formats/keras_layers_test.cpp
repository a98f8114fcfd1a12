// A layer's `config` in the dialect of Keras 2, which every Keras loads.

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "formats/keras/keras_layer.h"
#include "nn/example.h"

namespace dptrain::formats::keras {
namespace {

using nlohmann::json;

json exported(const std::string& yaml) { return json::parse(config::to_json(layer_arguments(nn::layer_of(yaml)))); }

TEST(KerasLayers, Conv2DAsInTheExample) {
  // The layer of a file that Keras 2 and Keras 3 both load.
  const json expected = json::parse(R"({
    "filters": 4, "kernel_size": [3, 3], "strides": [1, 1], "padding": "same", "data_format": "channels_last",
    "dilation_rate": [1, 1], "groups": 1, "activation": "relu", "use_bias": true,
    "kernel_initializer": "glorot_uniform", "bias_initializer": "zeros",
    "kernel_regularizer": null, "bias_regularizer": null, "activity_regularizer": null,
    "kernel_constraint": null, "bias_constraint": null})");
  EXPECT_EQ(exported("Conv2D: {filters: 4, kernel_size: 3, padding: same, activation: relu}"), expected);
}

TEST(KerasLayers, DepthwiseAndSeparableConvolutions) {
  EXPECT_EQ(exported("DepthwiseConv2D: {kernel_size: 3, strides: 2, padding: same, depth_multiplier: 2}"),
            json::parse(R"({
    "kernel_size": [3, 3], "strides": [2, 2], "padding": "same", "depth_multiplier": 2, "data_format": "channels_last",
    "dilation_rate": [1, 1], "activation": "linear", "use_bias": true,
    "depthwise_initializer": "glorot_uniform", "bias_initializer": "zeros",
    "depthwise_regularizer": null, "bias_regularizer": null, "activity_regularizer": null,
    "depthwise_constraint": null, "bias_constraint": null})"));
  EXPECT_EQ(exported("SeparableConv2D: {filters: 4, kernel_size: 3, use_bias: false, activation: relu}"),
            json::parse(R"({
    "filters": 4, "kernel_size": [3, 3], "strides": [1, 1], "padding": "valid", "data_format": "channels_last",
    "dilation_rate": [1, 1], "depth_multiplier": 1, "activation": "relu", "use_bias": false,
    "depthwise_initializer": "glorot_uniform", "pointwise_initializer": "glorot_uniform", "bias_initializer": "zeros",
    "depthwise_regularizer": null, "pointwise_regularizer": null, "bias_regularizer": null,
    "activity_regularizer": null,
    "depthwise_constraint": null, "pointwise_constraint": null, "bias_constraint": null})"));
}

TEST(KerasLayers, Recurrent) {
  EXPECT_EQ(exported("LSTM: {units: 4, dropout: 0.5}"), json::parse(R"({
    "return_sequences": false, "return_state": false, "go_backwards": false, "stateful": false, "unroll": false,
    "units": 4, "activation": "tanh", "recurrent_activation": "sigmoid", "use_bias": true,
    "kernel_initializer": "glorot_uniform", "recurrent_initializer": "orthogonal", "bias_initializer": "zeros",
    "unit_forget_bias": true, "kernel_regularizer": null, "recurrent_regularizer": null, "bias_regularizer": null,
    "activity_regularizer": null, "kernel_constraint": null, "recurrent_constraint": null, "bias_constraint": null,
    "dropout": 0.5, "recurrent_dropout": 0.0})"));
  const json gru = exported("GRU: 4");
  EXPECT_EQ(gru.at("reset_after"), true);
  EXPECT_FALSE(gru.contains("unit_forget_bias"));
}

TEST(KerasLayers, Wrappers) {
  const json found = exported("Bidirectional: {layer: {GRU: {units: 4, return_sequences: true}}, merge_mode: sum}");
  EXPECT_EQ(exported("TimeDistributed: {layer: Flatten}").at("layer").at("config").at("name"), "flatten");
  json inner = exported("GRU: {units: 4, return_sequences: true}");
  inner.update({{"name", "gru"}, {"trainable", true}, {"dtype", "float32"}});
  const json layer{{"module", "keras.layers"}, {"class_name", "GRU"}, {"config", inner}, {"registered_name", nullptr}};
  EXPECT_EQ(found, json({{"layer", layer}, {"merge_mode", "sum"}}));
}

TEST(KerasLayers, Activations) {
  for (const kernels::ActivationTraits& traits : kernels::kActivations) {
    const std::string yaml = std::string("Activation: ") + traits.name;
    // Under the plain name, Keras 2 would compute another function without a warning.
    const json expected = traits.kind == nn::Activation::kHardSigmoid
                              ? json::parse(R"({"module": "keras.ops", "class_name": "function",
                                                "config": "hard_sigmoid", "registered_name": "hard_sigmoid"})")
                              : json(traits.name);
    EXPECT_EQ(exported(yaml).at("activation"), expected) << traits.name;
    if (traits.alias != nullptr) {
      EXPECT_EQ(exported(std::string("Activation: ") + traits.alias).at("activation"), expected);
    }
  }
}

TEST(KerasLayers, Initializers) {
  const auto of = [](const nn::Initializer& initializer) {
    return json::parse(config::to_json(keras::initializer(initializer)));
  };
  EXPECT_EQ(of(nn::Initializer{nn::HeNormal{}}), "he_normal");
  EXPECT_EQ(of(nn::Initializer{nn::Orthogonal{}}), "orthogonal");
  EXPECT_EQ(of(nn::Initializer{nn::Orthogonal{2}}),
            json::parse(R"({"class_name": "Orthogonal", "config": {"gain": 2.0, "seed": null}})"));
  EXPECT_EQ(of(nn::Initializer{nn::Constant{0.1}}),
            json::parse(R"({"class_name": "Constant", "config": {"value": 0.1}})"));
  EXPECT_EQ(of(nn::Initializer{nn::TruncatedNormal{0, 0.04}}),
            json::parse(R"({"class_name": "TruncatedNormal", "config": {"mean": 0.0, "stddev": 0.04, "seed": null}})"));
  EXPECT_EQ(of(nn::Initializer{nn::VarianceScaling{2, nn::FanMode::kFanOut, nn::Distribution::kUntruncatedNormal}}),
            json::parse(R"({"class_name": "VarianceScaling", "config": {"scale": 2.0, "mode": "fan_out",
                            "distribution": "untruncated_normal", "seed": null}})"));
}

TEST(KerasLayers, WritesRegularizersAsL1L2) {
  EXPECT_EQ(exported("Dense: {units: 2, kernel_regularizer: l2}")["kernel_regularizer"],
            json::parse(R"({"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.01}})"));
  EXPECT_EQ(exported("Dense: {units: 2, bias_regularizer: {L1: 0.5}}")["bias_regularizer"],
            json::parse(R"({"class_name": "L1L2", "config": {"l1": 0.5, "l2": 0.0}})"));
}

TEST(KerasLayers, Normalizations) {
  const std::string weights = R"("center": true, "scale": true, "beta_initializer": "zeros",
      "gamma_initializer": "ones", "beta_regularizer": null, "gamma_regularizer": null, "beta_constraint": null,
      "gamma_constraint": null})";
  EXPECT_EQ(exported("LayerNormalization"), json::parse(R"({"axis": -1, "epsilon": 0.001, )" + weights));
  EXPECT_EQ(exported("LayerNormalization: {axis: [2, 3]}")["axis"], json::parse("[2, 3]"));
  EXPECT_EQ(exported("RMSNormalization"), json::parse(R"({"axis": [-1], "epsilon": 1e-06})"));
  EXPECT_EQ(exported("GroupNormalization: 3"),
            json::parse(R"({"groups": 3, "axis": -1, "epsilon": 0.001, )" + weights));
}

TEST(KerasLayers, OtherLayers) {
  EXPECT_EQ(
      exported("Input: [7, 5, 3]"),
      json::parse(R"({"batch_input_shape": [null, 7, 5, 3], "dtype": "float32", "sparse": false, "ragged": false})"));
  EXPECT_EQ(
      exported("MaxPooling2D: 3"),
      json::parse(R"({"pool_size": [3, 3], "strides": [3, 3], "padding": "valid", "data_format": "channels_last"})"));
  EXPECT_EQ(exported("ZeroPadding2D: [1, 2]"),
            json::parse(R"({"padding": [[1, 1], [2, 2]], "data_format": "channels_last"})"));
  EXPECT_EQ(exported("Cropping2D: [[0, 1], [2, 3]]"),
            json::parse(R"({"cropping": [[0, 1], [2, 3]], "data_format": "channels_last"})"));
  EXPECT_EQ(exported("UpSampling2D: {size: 2, interpolation: bilinear}"),
            json::parse(R"({"size": [2, 2], "data_format": "channels_last", "interpolation": "bilinear"})"));
  const json transposed = exported("Conv2DTranspose: {filters: 4, kernel_size: 3, output_padding: 0}");
  EXPECT_EQ(transposed["output_padding"], json::parse("[0, 0]"));
  EXPECT_FALSE(transposed.contains("groups")) << "unknown to Keras 2's Conv2DTranspose";
  EXPECT_TRUE(exported("Conv2DTranspose: {filters: 4, kernel_size: 3}")["output_padding"].is_null());
  EXPECT_EQ(exported("LeakyReLU"), json::parse(R"({"alpha": 0.3})"));
  EXPECT_EQ(exported("ReLU: 6"), json::parse(R"({"max_value": 6.0, "negative_slope": 0.0, "threshold": 0.0})"));
  EXPECT_EQ(exported("Dropout: 0.25"), json::parse(R"({"rate": 0.25, "noise_shape": null, "seed": null})"));
  EXPECT_EQ(exported("Activation: silu"), json::parse(R"({"activation": "swish"})"));
  EXPECT_EQ(exported("Flatten"), json::parse(R"({"data_format": "channels_last"})"));
  EXPECT_EQ(exported("Add"), json::object());
  EXPECT_EQ(exported("Concatenate"), json::parse(R"({"axis": -1})"));
  const json normalization = exported("BatchNormalization: {synchronized: true}");
  EXPECT_EQ(normalization["axis"], -1);
  EXPECT_EQ(normalization["momentum"], 0.99);
  EXPECT_FALSE(normalization.contains("synchronized")) << "unknown to Keras 2";
}

TEST(KerasLayers, SmallLayers) {
  EXPECT_EQ(exported("ELU"), json::parse(R"({"alpha": 1.0})"));
  EXPECT_EQ(exported("PReLU: {shared_axes: [1, 2]}"),
            json::parse(R"({"alpha_initializer": "zeros", "alpha_regularizer": null, "alpha_constraint": null,
                            "shared_axes": [1, 2]})"));
  EXPECT_EQ(exported("PReLU: {alpha_initializer: {Constant: 0.25}}"),
            json::parse(R"({"alpha_initializer": {"class_name": "Constant", "config": {"value": 0.25}},
                            "alpha_regularizer": null, "alpha_constraint": null, "shared_axes": null})"));
  EXPECT_EQ(exported("GaussianNoise: 0.5"), json::parse(R"({"stddev": 0.5})"));
  EXPECT_EQ(exported("SpatialDropout2D: 0.5"), json::parse(R"({"rate": 0.5, "data_format": "channels_last"})"));
  for (const char* type : {"Average", "Maximum", "Minimum", "Subtract"})
    EXPECT_EQ(exported(type), json::object()) << type;
  EXPECT_EQ(exported("Permute: [3, 1, 2]"), json::parse(R"({"dims": [3, 1, 2]})"));
  EXPECT_EQ(exported("RepeatVector: 4"), json::parse(R"({"n": 4})"));
}

TEST(KerasLayers, ClassesAndKeysOtherThanArguments) {
  EXPECT_EQ(class_name(nn::layer_of("Input: [3]")), "InputLayer");
  EXPECT_EQ(class_name(nn::layer_of("Flatten")), "Flatten");
  EXPECT_TRUE(layer_form(nn::layer_of("Input: [3]")).has_only_name);
  // Keras 3's constructor accepts only `rate`, `seed`, `name` and `dtype`.
  EXPECT_FALSE(layer_form(nn::layer_of("SpatialDropout2D: 0.5")).has_trainable);
  EXPECT_TRUE(layer_form(nn::layer_of("Dropout: 0.5")).has_trainable);
}

TEST(KerasLayers, IgnoresArgumentsWithoutEffect) {
  const auto errors_of = [](const std::string& type, const std::string& key) {
    std::vector<std::string> all;
    layer_arguments(type, {{key, 3}}, true, all);
    return all;
  };
  const std::pair<const char*, const char*> ignored[] = {{"Resizing", "fill_mode"},
                                                         {"Embedding", "input_length"},
                                                         {"PositionEmbedding", "hierarchical_alpha"},
                                                         {"MultiHeadAttention", "query_shape"},
                                                         {"SeparableConv1D", "kernel_initializer"},
                                                         {"DepthwiseConv2D", "filters"}};
  for (const auto& [type, key] : ignored) {
    EXPECT_EQ(errors_of(type, key), std::vector<std::string>()) << type;
    const std::vector<std::string> refused{fmt::format("argument '{}' is not supported, found 3", key)};
    EXPECT_EQ(errors_of("Flatten", key), refused) << type;
  }
}

struct Unwritten {
  std::int64_t size = 3;
};

TEST(KerasLayers, RejectsDifferencesOfUnknownKeys) {
  const auto built = [](LayerBuilder<Unwritten>&& builder) {
    Entries entries{{"size", config::Node::integer(3)}};
    const Unwritten spec;
    for (const auto& difference : std::move(builder).build().differences) difference.make(&spec, entries);
    return config::to_json(object(std::move(entries)));
  };
  EXPECT_EQ(json::parse(built(layer<Unwritten>().renamed("size", "extent").first("a", text("b")).last("extent"))),
            json::parse(R"({"a": "b", "extent": 3})"));
  EXPECT_THROW(built(layer<Unwritten>().renamed("sizes", "extent")), Error);
  EXPECT_THROW(built(layer<Unwritten>().after("sizes", "extent", text("b"))), Error);
}

TEST(KerasLayers, WritesRealsWithADecimalPoint) {
  // Keras 3 rejects an integer in place of a float.
  EXPECT_EQ(config::to_json(real(1.0)).substr(0, 3), "1.0");
  EXPECT_EQ(config::to_json(real(6.0F)).substr(0, 3), "6.0");
}

TEST(KerasLayers, OverSteps) {
  EXPECT_EQ(exported("Conv1D: {filters: 4, kernel_size: 3, padding: causal, dilation_rate: 2}"), json::parse(R"({
    "filters": 4, "kernel_size": [3], "strides": [1], "padding": "causal", "data_format": "channels_last",
    "dilation_rate": [2], "groups": 1, "activation": "linear", "use_bias": true,
    "kernel_initializer": "glorot_uniform", "bias_initializer": "zeros",
    "kernel_regularizer": null, "bias_regularizer": null, "activity_regularizer": null,
    "kernel_constraint": null, "bias_constraint": null})"));
  EXPECT_EQ(exported("Conv1DTranspose: {filters: 4, kernel_size: 3, output_padding: 0}")["output_padding"],
            json::parse("[0]"));
  EXPECT_EQ(exported("DepthwiseConv1D: 3")["kernel_size"], json::parse("[3]"));
  EXPECT_EQ(exported("SeparableConv1D: {filters: 2, kernel_size: 3}")["dilation_rate"], json::parse("[1]"));
  EXPECT_EQ(exported("MaxPooling1D: 3"),
            json::parse(R"({"pool_size": [3], "strides": [3], "padding": "valid", "data_format": "channels_last"})"));
  EXPECT_EQ(exported("GlobalMaxPooling1D"), json::parse(R"({"data_format": "channels_last", "keepdims": false})"));
  EXPECT_EQ(exported("ZeroPadding1D: 2"), json::parse(R"({"padding": [2, 2]})"));
  EXPECT_EQ(exported("Cropping1D: [1, 0]"), json::parse(R"({"cropping": [1, 0]})"));
  EXPECT_EQ(exported("UpSampling1D"), json::parse(R"({"size": 2})"));
  EXPECT_EQ(exported("SpatialDropout1D: 0.5"), json::parse(R"({"rate": 0.5})"));
  EXPECT_FALSE(layer_form(nn::layer_of("SpatialDropout1D: 0.5")).has_trainable);
}

TEST(KerasLayers, OverVolumes) {
  EXPECT_EQ(exported("Conv3D: {filters: 4, kernel_size: 3, padding: same, dilation_rate: [1, 2, 2]}"), json::parse(R"({
    "filters": 4, "kernel_size": [3, 3, 3], "strides": [1, 1, 1], "padding": "same", "data_format": "channels_last",
    "dilation_rate": [1, 2, 2], "groups": 1, "activation": "linear", "use_bias": true,
    "kernel_initializer": "glorot_uniform", "bias_initializer": "zeros",
    "kernel_regularizer": null, "bias_regularizer": null, "activity_regularizer": null,
    "kernel_constraint": null, "bias_constraint": null})"));
  EXPECT_EQ(exported("Conv3DTranspose: {filters: 4, kernel_size: 3, strides: 2, output_padding: 1}")["output_padding"],
            json::parse("[1, 1, 1]"));
  EXPECT_EQ(exported("MaxPooling3D: {pool_size: [1, 2, 2]}"),
            json::parse(R"({"pool_size": [1, 2, 2], "strides": [1, 2, 2], "padding": "valid",
                            "data_format": "channels_last"})"));
  EXPECT_EQ(exported("AveragePooling3D: {strides: 3, padding: same}")["strides"], json::parse("[3, 3, 3]"));
  for (const char* type : {"GlobalMaxPooling3D", "GlobalAveragePooling3D"})
    EXPECT_EQ(exported(type), json::parse(R"({"data_format": "channels_last", "keepdims": false})"));
  EXPECT_EQ(exported("ZeroPadding3D: [0, 1, 2]"),
            json::parse(R"({"padding": [[0, 0], [1, 1], [2, 2]], "data_format": "channels_last"})"));
  EXPECT_EQ(exported("Cropping3D: [[1, 0], [0, 2], [1, 1]]"),
            json::parse(R"({"cropping": [[1, 0], [0, 2], [1, 1]], "data_format": "channels_last"})"));
  EXPECT_EQ(exported("UpSampling3D: [1, 3, 2]"), json::parse(R"({"size": [1, 3, 2], "data_format": "channels_last"})"));
  EXPECT_EQ(exported("SpatialDropout3D: 0.5"), json::parse(R"({"rate": 0.5, "data_format": "channels_last"})"));
  EXPECT_FALSE(layer_form(nn::layer_of("SpatialDropout3D: 0.5")).has_trainable);
}

TEST(KerasLayers, NoisesScalesAndProducts) {
  EXPECT_EQ(exported("Normalization: {mean: 0.5, variance: 2}"),
            json::parse(R"({"axis": -1, "mean": 0.5, "variance": 2.0, "invert": false})"));
  EXPECT_EQ(exported("Normalization: {mean: [1, 2, 3], variance: [4, 5, 6], invert: true}"),
            json::parse(R"({"axis": -1, "mean": [1.0, 2.0, 3.0], "variance": [4.0, 5.0, 6.0], "invert": true})"));
  EXPECT_EQ(exported("Normalization"), json::parse(R"({"axis": -1, "mean": null, "variance": null, "invert": false})"));
  EXPECT_EQ(exported("Rescaling: 2"), json::parse(R"({"scale": 2.0, "offset": 0.0})"));
  EXPECT_EQ(exported("Rescaling: {scale: [1, 2, 0.5]}"), json::parse(R"({"scale": [1.0, 2.0, 0.5], "offset": 0.0})"));
  EXPECT_EQ(exported("LayerScale: {init_values: 1, projection_dim: 3}"),
            json::parse(R"({"init_values": 1.0, "projection_dim": 3})"));
  EXPECT_EQ(exported("StochasticDepth: 0.5"), json::parse(R"({"drop_path_rate": 0.5})"));
  EXPECT_EQ(exported("CustomScaleLayer: 2"), json::parse(R"({"scale": 2.0})"));
  EXPECT_EQ(exported("GaussianDropout: 0.5"), json::parse(R"({"rate": 0.5})"));
  EXPECT_EQ(exported("Dropout: {rate: 0.5, noise_shape: [null, 7, 1, 3]}"),
            json::parse(R"({"rate": 0.5, "noise_shape": [null, 7, 1, 3], "seed": null})"));
  EXPECT_EQ(exported("Resizing: {height: 4, width: 9}"),
            json::parse(R"({"height": 4, "width": 9, "interpolation": "bilinear"})"));
  EXPECT_EQ(exported("Dot: {axes: [1, 2], normalize: true}"), json::parse(R"({"axes": [1, 2], "normalize": true})"));
  EXPECT_EQ(exported("Dot: -1"), json::parse(R"({"axes": -1, "normalize": false})"));
}

}  // namespace
}  // namespace dptrain::formats::keras
