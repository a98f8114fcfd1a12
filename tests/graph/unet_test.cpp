// UNet: parameters, shapes and skip connections of each backbone. The channels of the features are those of Keras
// Applications; the decoder's parameters follow from them.

#include <gmock/gmock.h>

#include <array>

#include "graph/example.h"
#include "graph/network.h"

namespace dptrain::graph {
namespace {

struct Encoder {
  const char* name;
  std::int64_t parameters;
  std::int64_t channels;              ///< of its output
  std::array<std::int64_t, 4> skips;  ///< channels at 1/16, 1/8, 1/4, 1/2
};
const std::vector<Encoder> kEncoders{
    {"VGG16", 14714688, 512, {512, 512, 256, 128}},
    {"VGG19", 20024384, 512, {512, 512, 256, 128}},
    {"ResNet50", 23587712, 2048, {1024, 512, 256, 64}},
    {"ResNet101", 42658176, 2048, {1024, 512, 256, 64}},
    {"ResNet152", 58370944, 2048, {1024, 512, 256, 64}},
    {"ResNet50V2", 23564800, 2048, {256, 128, 64, 64}},
    {"ResNet101V2", 42626560, 2048, {256, 128, 64, 64}},
    {"ResNet152V2", 58331648, 2048, {256, 128, 64, 64}},
    {"DenseNet121", 7037504, 1024, {512, 256, 128, 64}},
    {"DenseNet169", 12642880, 1664, {640, 256, 128, 64}},
    {"DenseNet201", 18321984, 1920, {896, 256, 128, 64}},
    {"MobileNet", 3228864, 1024, {512, 256, 128, 64}},
    {"MobileNetV2", 2257984, 1280, {576, 192, 144, 96}},
    {"MobileNetV3Small", 939120, 576, {288, 96, 72, 16}},
    {"MobileNetV3Large", 2996352, 960, {672, 240, 72, 64}},
    {"EfficientNetB0", 4049571, 1280, {672, 240, 144, 96}},
    {"EfficientNetB1", 6575239, 1280, {672, 240, 144, 96}},
    {"EfficientNetB2", 7768569, 1408, {720, 288, 144, 96}},
    {"EfficientNetB3", 10783535, 1536, {816, 288, 192, 144}},
    {"EfficientNetB4", 17673823, 1792, {960, 336, 192, 144}},
    {"EfficientNetB5", 28513527, 2048, {1056, 384, 240, 144}},
    {"EfficientNetB6", 40960143, 2304, {1200, 432, 240, 192}},
    {"EfficientNetB7", 64097687, 2560, {1344, 480, 288, 192}},
    {"EfficientNetV2B0", 5919312, 1280, {672, 192, 32, 16}},
    {"EfficientNetV2B1", 6931124, 1280, {672, 192, 32, 16}},
    {"EfficientNetV2B2", 8769374, 1408, {720, 224, 32, 16}},
    {"EfficientNetV2B3", 12930622, 1536, {816, 224, 40, 16}},
    {"EfficientNetV2S", 20331360, 1280, {960, 256, 48, 24}},
    {"EfficientNetV2M", 53150388, 1280, {1056, 320, 48, 24}},
    {"EfficientNetV2L", 117746848, 1280, {1344, 384, 64, 32}},
};

/// A 3x3 convolution without bias, and its normalization.
std::int64_t convolution(std::int64_t channels, std::int64_t filters) { return 9 * channels * filters + 4 * filters; }

std::int64_t expected_parameters(const Encoder& encoder, std::int64_t classes,
                                 const std::array<std::int64_t, 5>& filters = {256, 128, 64, 32, 16}) {
  std::int64_t sum = encoder.parameters, channels = encoder.channels;
  if (std::string(encoder.name).starts_with("VGG")) sum += 2 * convolution(512, 512);
  for (std::size_t i = 0; i < 5; ++i) {
    sum += convolution(channels + (i < 4 ? encoder.skips[i] : 0), filters[i]) + convolution(filters[i], filters[i]);
    channels = filters[i];
  }
  return sum + 9 * channels * classes + classes;
}

const Node& node_called(const Graph& graph, const std::string& name) {
  for (const Node& node : graph.nodes)
    if (node.name == name) return node;
  throw std::runtime_error("no step is called " + name);
}

/// The names of the steps that the decoder reads, from 1/16 to 1/2.
std::vector<std::string> skips_of(const Graph& graph, const std::string& prefix = "") {
  std::vector<std::string> names;
  for (int stage = 0; stage < 4; ++stage) {
    const Node& joined = node_called(graph, prefix + "decoder_stage" + std::to_string(stage) + "_concat");
    names.push_back(name_of(graph, joined.inputs.at(1)));
  }
  return names;
}

std::string unet_errors(const std::string& steps) { return build_text("layers: [" + steps + "]").errors; }

class UNetBackbone : public ::testing::TestWithParam<Encoder> {};

TEST_P(UNetBackbone, HasItsFeaturesAtEachSize) {
  const Encoder& encoder = GetParam();
  const Graph graph =
      graph_of(std::string("layers: [{UNet: {backbone: ") + encoder.name + ", input_shape: [64, 96, 3], classes: 7}}]");
  EXPECT_EQ(parameters_of(graph), expected_parameters(encoder, 7));
  ASSERT_EQ(graph.outputs.size(), 1U);
  EXPECT_EQ(tensor_of(graph, graph.outputs[0]).shape.str(), "64x96x7");
  for (int stage = 0; stage < 4; ++stage) {
    const Node& joined = node_called(graph, "decoder_stage" + std::to_string(stage) + "_concat");
    const std::int64_t height = 64 >> (4 - stage), width = 96 >> (4 - stage);
    EXPECT_EQ(tensor_of(graph, joined.inputs.at(1)).shape,
              (Shape{height, width, encoder.skips[static_cast<std::size_t>(stage)]}))
        << stage;
  }
  EXPECT_EQ(tensor_of(graph, node_called(graph, "decoder_stage0_upsampling").inputs.at(0)).shape,
            (Shape{2, 3, std::string(encoder.name).starts_with("VGG") ? 512 : encoder.channels}));
  // The layers of the encoder have the names that they have without a decoder, for weights of Keras's files.
  const std::vector<std::string> names = layer_names(graph);
  for (const std::string& name : layer_names(
           graph_of(std::string("layers: [{") + encoder.name + ": {include_top: false, input_shape: [64, 96, 3]}}]")))
    EXPECT_THAT(names, ::testing::Contains(name));
}

INSTANTIATE_TEST_SUITE_P(All, UNetBackbone, ::testing::ValuesIn(kEncoders),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(UNet, HasABackboneForEachRowOfTheTable) {
  std::vector<std::string> expected, found;
  for (const Encoder& encoder : kEncoders) expected.emplace_back(encoder.name);
  for (const config::Node::Entry& entry : find_network("UNet")->backbones.entries()) found.push_back(entry.key);
  EXPECT_EQ(found, expected);
}

TEST(UNet, ReadsTheFeaturesOfSegmentationModels) {
  const auto skips = [](const std::string& backbone) {
    return skips_of(graph_of("layers: [{UNet: {backbone: " + backbone + ", input_shape: [32, 32, 3]}}]"));
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(skips("VGG16"), (Names{"block5_conv3", "block4_conv3", "block3_conv3", "block2_conv2"}));
  EXPECT_EQ(skips("MobileNetV2"),
            (Names{"block_13_expand_relu", "block_6_expand_relu", "block_3_expand_relu", "block_1_expand_relu"}));
  EXPECT_EQ(skips("EfficientNetB3"), (Names{"block6a_expand_activation", "block4a_expand_activation",
                                            "block3a_expand_activation", "block2a_expand_activation"}));
  EXPECT_EQ(skips("DenseNet201"), (Names{"pool4_conv", "pool3_conv", "pool2_conv", "conv1_relu"}));
  // Their parameters with one class, without Normalization for EfficientNet.
  const auto parameters = [](const std::string& backbone) {
    return parameters_of(graph_of("layers: [{UNet: {backbone: " + backbone + "}}]"));
  };
  EXPECT_EQ(parameters("VGG16"), 23752273);
  EXPECT_EQ(parameters("MobileNetV2"), 8047441);
  EXPECT_EQ(parameters("EfficientNetB0") - 7, 10115501);
}

TEST(UNet, EndsInTheFunctionOfTheClasses) {
  const auto end = [](const std::string& arguments) {
    const Graph graph = graph_of("layers: [{UNet: {input_shape: [32, 32, 1]" + arguments + "}}]");
    const Node& last = graph.nodes[static_cast<std::size_t>(graph.outputs.at(0).node)];
    return last.name + " " + config::to_yaml(layer_of(graph, last).spec.write(true));
  };
  EXPECT_EQ(end(""), "predictions Activation: {activation: sigmoid}\n");
  EXPECT_EQ(end(", classes: 2"), "predictions Activation: {activation: softmax}\n");
  EXPECT_EQ(end(", classes: 2, activation: sigmoid"), "predictions Activation: {activation: sigmoid}\n");
  EXPECT_THAT(end(", classes: 2, activation: linear"), ::testing::StartsWith("final_conv Conv2D:"));
}

TEST(UNet, HasTheFiltersOfTheDecoder) {
  const Graph graph = graph_of("layers: [{UNet: {classes: 3, decoder_filters: [40, 30, 20, 10, 5]}}]");
  EXPECT_EQ(parameters_of(graph), expected_parameters(kEncoders[12], 3, {40, 30, 20, 10, 5}));
  expect_round_trip(graph);
}

TEST(UNet, ReadsThePreviousStepAndCanBeUsedTwice) {
  const Graph graph = graph_of(R"(
layers:
  - Input: {name: photo, shape: [32, 64, 3]}
  - Activation: tanh
  - UNet: {name: a, backbone: MobileNetV3Small, trainable: false}
  - UNet: {name: b, inputs: photo, backbone: MobileNetV3Small}
  - Concatenate: {inputs: [a, b]}
)");
  using Names = std::vector<std::string>;
  EXPECT_EQ(skips_of(graph, "a_"), (Names{"activation_12", "activation_2", "re_lu_2", "activation_1"}));
  EXPECT_NE(skips_of(graph, "b_"), skips_of(graph, "a_"));
  EXPECT_EQ(tensor_of(graph, node_called(graph, "b_decoder_stage3_concat").inputs.at(1)).shape.str(), "16x32x16");
  for (const Layer& layer : graph.layers)
    if (layer.name.starts_with("a_")) {
      EXPECT_FALSE(layer.trainable) << layer.name;
    }
}

TEST(UNet, RejectsSizesThatItCannotHalve) {
  EXPECT_EQ(
      unet_errors("{UNet: {input_shape: [100, 130, 3]}}"),
      "1:31 UNet: input_shape must be an image [height, width, channels], height and width multiples of 32, found "
      "100x130x3; Resizing in data.transforms changes the size, for example to 96x128\n");
  EXPECT_EQ(
      unet_errors("{Input: [20, 48, 3]}, UNet"),
      "1:32 UNet: 'input_layer' must be an image [height, width, channels], height and width multiples of 32, found "
      "20x48x3; Resizing in data.transforms changes the size, for example to 32x64\n");
  EXPECT_EQ(
      unet_errors("{Input: [784]}, UNet"),
      "1:26 UNet: 'input_layer' must be an image [height, width, channels], height and width multiples of 32, found "
      "784\n");
}

TEST(UNet, RejectsInvalidArguments) {
  const std::string xception = unet_errors("{UNet: {backbone: Xception}}");
  EXPECT_THAT(xception, ::testing::StartsWith("1:28 UNet: backbone must be one of VGG16, VGG19, ResNet50, "));
  EXPECT_THAT(xception, ::testing::EndsWith(", EfficientNetV2L, found 'Xception'\n"));
  for (const char* other : {"InceptionV3", "InceptionResNetV2", "NASNetMobile", "ConvNeXtTiny", "ViT", "UNet"})
    EXPECT_THAT(unet_errors(std::string("{UNet: {backbone: ") + other + "}}"),
                ::testing::HasSubstr("1:28 UNet: backbone must"))
        << other;
  EXPECT_THAT(unet_errors("{UNet: {backbone: mobilenetv2}}"),
              ::testing::EndsWith(", found 'mobilenetv2'; did you mean 'MobileNetV2'?\n"));
  EXPECT_EQ(unet_errors("{UNet: {decoder_filters: [64, 32], classes: 0}}"),
            "1:35 UNet: decoder_filters must have 5 numbers, found 2\n"
            "1:54 UNet: classes must be >= 1, found 0\n");
  EXPECT_EQ(
      unet_errors("{UNet: {include_top: false}}"),
      "1:18 UNet: unknown argument 'include_top'; UNet has the arguments backbone, input_shape, classes, activation, "
      "decoder_filters\n");
}

TEST(UNet, IsAdvisedOnThePreprocessingOfItsBackbone) {
  const Graph graph = graph_of("layers: [{UNet: {backbone: ResNet50}}]");
  ASSERT_EQ(graph.networks.size(), 1U);
  EXPECT_EQ(graph.networks[0].network, "ResNet50");
  EXPECT_EQ(graph.networks[0].preprocessing, "caffe");
  EXPECT_TRUE(graph.networks[0].reads_input);
  EXPECT_EQ(graph.networks[0].mark.str(), "net.yaml:1:11") << "the use, not the bundled file";
  const Graph inside = graph_of("blocks: {body: {layers: [UNet]}}\nlayers: [{Input: [32, 32, 3]}, body]");
  EXPECT_EQ(inside.networks.at(0).mark.str(), "net.yaml:1:26") << "the step of the user's block";
}

}  // namespace
}  // namespace dptrain::graph
