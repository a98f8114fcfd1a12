// Compares the bundled networks of Keras Applications with tables written by Keras: tests/golden/keras_apps.
//   <Network>.csv   with top, default size: i,name,class,inputs,config,out_shape,weights, in the order of model.layers
//   variants.csv    other arguments: layers, parameters, output, and a digest (FNV-1a, 64 bits) of the lines
//                   name|class|output shape|shapes of the weights

#include "graph/network.h"

#include <cstdlib>
#include <fstream>
#include <set>

#include "core/text.h"
#include "formats/keras/keras_layer.h"
#include "graph/example.h"
#include "support/test_data.h"

namespace dptrain::graph {
namespace {

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream in(dptrain::test::test_data("golden/keras_apps/" + file));
  std::vector<std::string> all;
  for (std::string line; std::getline(in, line);) all.push_back(trim(line));
  if (all.size() < 2) throw std::runtime_error(file + " is missing");
  all.erase(all.begin());  // head
  return all;
}

/// The cells of a CSV line; quoted cells may contain commas.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

std::string class_of(const Layer& layer) { return formats::keras::class_name(layer.spec); }

const Node& call_of(const Graph& graph, int layer) {
  for (const Node& node : graph.nodes)
    if (node.layer == layer) return node;
  throw std::runtime_error("a layer without a call");
}

/// A value of a Keras config in Python's notation.
std::string python(const config::Node& value) {
  if (value.is_null()) return "None";
  if (value.is_scalar()) return value.str() == "true" ? "True" : value.str() == "false" ? "False" : value.str();
  std::vector<std::string> items;
  for (const config::Node& item : value.items()) items.push_back(python(item));
  return "(" + join(items, ",") + (items.size() == 1 ? ",)" : ")");
}

bool same_value(const std::string& key, const std::string& expected, const std::string& found) {
  if (key == "axis")
    return (expected == "3" || expected == "-1") && (found == "3" || found == "-1");  // the last of four
  if (key == "activation" && expected == "silu") return found == "swish";  // the name that every Keras version has
  char *end = nullptr, *other = nullptr;
  const double a = std::strtod(expected.c_str(), &end), b = std::strtod(found.c_str(), &other);
  if (!expected.empty() && *end == 0 && !found.empty() && *other == 0) return a == b;
  return expected == found;
}

void expect_config(const Layer& layer, const std::string& expected) {
  const config::Node keras = formats::keras::layer_arguments(layer.spec);
  if (expected.empty()) return;
  for (const std::string& pair : split(expected, ' ')) {
    const std::size_t sign = pair.find('=');
    const std::string key = pair.substr(0, sign);
    const config::Node* found = keras.find(key);
    ASSERT_NE(found, nullptr) << layer.name << " " << key;
    EXPECT_TRUE(same_value(key, pair.substr(sign + 1), python(*found)))
        << layer.name << " " << pair << " " << python(*found);
  }
}

/// The first `rows` of the table, in the order of Keras's model.layers.
void expect_table(const Graph& graph, const std::vector<std::string>& table, std::size_t rows) {
  const std::vector<int> order = keras_order(graph);
  ASSERT_EQ(order.size(), rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::vector<std::string> cells = cells_of(table[i]);
    ASSERT_EQ(cells.size(), 7U) << table[i];
    const Layer& layer = graph.layers[static_cast<std::size_t>(order[i])];
    const Node& call = call_of(graph, order[i]);
    ASSERT_EQ(cells[0], std::to_string(i));
    ASSERT_EQ(layer.name, cells[1]) << "place " << i;
    EXPECT_EQ(class_of(layer), cells[2]) << layer.name;
    std::vector<std::string> inputs;
    for (const Port& input : call.inputs) inputs.push_back(name_of(graph, input));
    EXPECT_EQ(join(inputs, ";"), cells[3]) << layer.name;
    expect_config(layer, cells[4]);
    EXPECT_EQ(call.output().str(), cells[5]) << layer.name;
    std::vector<std::string> weights;
    for (const nn::WeightDef& weight : weights_of(layer)) {
      const bool renamed = class_of(layer) == "DepthwiseConv2D" && weight.name == "depthwise_kernel";  // by Keras 3
      weights.push_back((renamed ? "kernel" : weight.name) + ":" + weight.shape.str());
    }
    EXPECT_EQ(join(weights, " "), cells[6]) << layer.name;
  }
}

struct Expected {
  const char* name;
  std::int64_t parameters, without_top;
  std::size_t top;  ///< layers of the top; 0: no table, only a digest in variants.csv
};
// https://keras.io/api/applications and the totals in keras.md
const std::vector<Expected> kExpected{
    {"VGG16", 138357544, 14714688, 4},
    {"VGG19", 143667240, 20024384, 4},
    {"ResNet50", 25636712, 23587712, 2},
    {"Xception", 22910480, 20861480, 2},
    {"MobileNet", 4253864, 3228864, 5},
    {"MobileNetV2", 3538984, 2257984, 2},
    {"DenseNet121", 8062504, 7037504, 2},
    {"InceptionV3", 23851784, 21802784, 2},
    {"ResNet101", 44707176, 42658176, 0},
    {"ResNet152", 60419944, 58370944, 0},
    {"ResNet50V2", 25613800, 23564800, 2},
    {"ResNet101V2", 44675560, 42626560, 0},
    {"ResNet152V2", 60380648, 58331648, 0},
    {"MobileNetV3Small", 2554968, 939120, 7},
    {"MobileNetV3Large", 5507432, 2996352, 7},
    {"DenseNet169", 14307880, 12642880, 0},
    {"DenseNet201", 20242984, 18321984, 0},
    {"InceptionResNetV2", 55873736, 54336736, 2},
    {"EfficientNetB0", 5330571, 4049571, 3},
    {"EfficientNetB1", 7856239, 6575239, 0},
    {"EfficientNetB2", 9177569, 7768569, 0},
    {"EfficientNetB3", 12320535, 10783535, 0},
    {"EfficientNetB4", 19466823, 17673823, 0},
    {"EfficientNetB5", 30562527, 28513527, 0},
    {"EfficientNetB6", 43265143, 40960143, 0},
    {"EfficientNetB7", 66658687, 64097687, 0},
    {"EfficientNetV2B0", 7200312, 5919312, 3},
    {"EfficientNetV2B1", 8212124, 6931124, 0},
    {"EfficientNetV2B2", 10178374, 8769374, 0},
    {"EfficientNetV2B3", 14467622, 12930622, 0},
    {"EfficientNetV2S", 21612360, 20331360, 0},
    {"EfficientNetV2M", 54431388, 53150388, 0},
    {"EfficientNetV2L", 119027848, 117746848, 0},
    {"ConvNeXtTiny", 28589128, 27820128, 3},
    {"ConvNeXtSmall", 50223688, 49454688, 0},
    {"ConvNeXtBase", 88591464, 87566464, 0},
    {"ConvNeXtLarge", 197767336, 196230336, 0},
    {"ConvNeXtXLarge", 350196968, 348147968, 0},
    {"NASNetMobile", 5326716, 4269716, 2},
    {"NASNetLarge", 88949818, 84916818, 0},
};

class Networks : public ::testing::TestWithParam<Expected> {};

TEST_P(Networks, EqualKerasLayerByLayer) {
  const std::string name = GetParam().name;
  const std::size_t top = GetParam().top;
  const std::vector<std::string> table = top > 0 ? lines_of(name + ".csv") : std::vector<std::string>();
  const Graph whole = graph_of("layers: [" + name + "]");
  if (top > 0) expect_table(whole, table, table.size());
  EXPECT_EQ(parameters_of(whole), GetParam().parameters);
  expect_round_trip(whole);
  const Graph body = graph_of("layers: [{" + name + ": {include_top: false}}]");
  // Its normalization follows the pooling; without pooling there is another one.
  const bool ends_otherwise = name.starts_with("ConvNeXt");
  if (top > 0 && !ends_otherwise) expect_table(body, table, table.size() - top);
  EXPECT_EQ(parameters_of(body), GetParam().without_top);
}

TEST_P(Networks, FilesHaveKerasDefaults) {
  const Network* network = find_network(GetParam().name);
  ASSERT_NE(network, nullptr);
  config::Diagnostics diagnostics;
  config::Reader reader(diagnostics);
  const auto values = network_values(*network, {GetParam().name, {}, {}}, reader);
  ASSERT_TRUE(values);
  const NetworkArguments defaults;
  const config::Node written = network->schema.write(&defaults);
  ASSERT_EQ(written.entries().size(), values->size() - network->constants.size());
  for (const auto& [key, value] : *values) {
    if (network->constants.contains(key)) continue;
    ASSERT_NE(written.find(key), nullptr) << key;
    if (key != "input_shape" && key != "dropout_rate") {  // networks have their own defaults of these
      EXPECT_EQ(value.str(), written.find(key)->str()) << key;
    }
  }
  EXPECT_TRUE(network->preprocessing == "caffe" || network->preprocessing == "tf" ||
              network->preprocessing == "torch" || network->preprocessing == "built_in");
}

INSTANTIATE_TEST_SUITE_P(All, Networks, ::testing::ValuesIn(kExpected),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Network, AllAreRegistered) {
  std::vector<std::string> expected, found;
  for (const Expected& e : kExpected) expected.emplace_back(e.name);
  for (const auto& [name, network] : networks())
    if (!network.preprocessing.empty()) found.push_back(name);  // the others are not from Keras
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(found, expected);
}

std::uint64_t digest(const Graph& graph) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const int index : keras_order(graph)) {
    const Layer& layer = graph.layers[static_cast<std::size_t>(index)];
    std::vector<std::string> shapes;
    for (const nn::WeightDef& weight : weights_of(layer)) shapes.push_back(weight.shape.str());
    const std::string line = layer.name + "|" + class_of(layer) + "|" + call_of(graph, index).output().str() + "|" +
                             join(shapes, " ") + "\n";
    for (const char c : line) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return hash;
}

TEST(Network, OtherArgumentsEqualKeras) {
  for (const std::string& line : lines_of("variants.csv")) {
    const std::vector<std::string> cells = split(line, ';');
    ASSERT_EQ(cells.size(), 6U) << line;
    const Graph graph = graph_of("layers: [{" + cells[0] + ": " + cells[1] + "}]");
    EXPECT_EQ(std::to_string(graph.layers.size()), cells[2]) << line;
    EXPECT_EQ(std::to_string(parameters_of(graph)), cells[3]) << line;
    EXPECT_EQ(graph.nodes[static_cast<std::size_t>(graph.outputs.at(0).node)].output().str(), cells[4]) << line;
    EXPECT_EQ(std::to_string(digest(graph)), cells[5]) << line;
  }
}

TEST(Network, ReadsThePreviousStepOrAddsAnInput) {
  const Graph own = graph_of("layers: [{VGG16: {include_top: false, input_shape: [64, 48, 3]}}, Flatten]");
  EXPECT_EQ(own.nodes.front().name, "input_layer");
  EXPECT_EQ(own.nodes.front().output().str(), "64x48x3");
  const Graph above = graph_of(
      "layers: [{Input: {name: photo, shape: [64, 48, 3]}}, {Rescaling: 2}, {VGG16: {include_top: false}}, Flatten]");
  EXPECT_EQ(above.nodes[2].name, "block1_conv1");
  EXPECT_EQ(above.nodes[above.nodes[2].inputs.at(0).node].name, "rescaling");
}

TEST(Network, NameIsAPrefixAsForBlocks) {
  const Graph graph = graph_of(R"(
layers:
  - Input: {name: left, shape: [71, 71, 3]}
  - Input: {name: right, shape: [32, 32, 1]}
  - Xception: {name: first, inputs: left, include_top: false, pooling: avg, trainable: false}
  - VGG16: {name: second, inputs: right, include_top: false, pooling: max}
  - VGG16: {inputs: right, include_top: false}
  - Flatten: {inputs: block5_pool}
  - Flatten: {name: low, inputs: second_block1_pool}
  - Concatenate: {inputs: [first, second, flatten, low]}
)");
  std::set<std::string> names;
  for (const Layer& layer : graph.layers) {
    names.insert(layer.name);
    EXPECT_EQ(layer.trainable, !layer.name.starts_with("first_") && layer.name != "conv2d" &&
                                   !layer.name.starts_with("conv2d_") && !layer.name.starts_with("batch_norm") &&
                                   !layer.name.starts_with("add") && layer.name != "global_average_pooling2d")
        << layer.name;
  }
  for (const char* name : {"first_block1_conv1", "first_block14_sepconv2_act", "conv2d_3", "second_block5_pool",
                           "block5_pool", "global_max_pooling2d"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Network, CanBeShared) {
  const Graph graph = graph_of(R"(
shared:
  encoder: {MobileNet: {include_top: false, pooling: avg, alpha: 0.25}}
layers:
  - Input: {name: left, shape: [32, 32, 3]}
  - Input: {name: right, shape: [32, 32, 3]}
  - encoder: {name: a, inputs: left}
  - encoder: {name: b, inputs: right}
  - Concatenate: {inputs: [a, b]}
)");
  EXPECT_EQ(parameters_of(graph), 218544);
  expect_round_trip(graph);
}

TEST(Network, RejectsInvalidArguments) {
  const auto errors = [](const std::string& text) { return build_text("layers: [" + text + "]").errors; };
  EXPECT_EQ(errors("{VGG16: {weights: imagenet}}"),
            "1:19 VGG16: unknown argument 'weights'; weights are named under model.weights; VGG16 has the arguments "
            "include_top, input_shape, pooling, classes, classifier_activation\n");
  EXPECT_EQ(
      errors("{ResNet50: {alpha: 1}}"),
      "1:22 ResNet50: unknown argument 'alpha'; ResNet50 has the arguments include_top, input_shape, pooling, classes, "
      "classifier_activation\n");
  EXPECT_EQ(errors("{Xception: {input_shape: [64, 64, 3]}}"),
            "1:35 Xception: input_shape must be an image [height, width, channels] of at least 71x71, found 64x64x3\n");
  EXPECT_EQ(errors("{MobileNet: {pooling: mean, classes: 0, include_top: maybe}}"),
            "1:32 MobileNet: pooling must be none, avg or max, found 'mean'\n"
            "1:47 MobileNet: classes must be >= 1, found 0\n"
            "1:63 MobileNet: include_top must be true or false, found 'maybe'\n");
  EXPECT_EQ(errors("{Input: [28, 28, 1]}, {VGG16: {include_top: false}}"),
            "1:33 VGG16: 'input_layer' must be an image [height, width, channels] of at least 32x32, found 28x28x1\n");
  EXPECT_EQ(errors("{Input: [784]}, VGG16"),
            "1:26 VGG16: 'input_layer' must be an image [height, width, channels] of at least 32x32, found 784\n");
  EXPECT_EQ(errors("{Input: [64, 64, 3]}, {VGG16: {input_shape: [32, 32, 3]}}"),
            "1:33 VGG16: input_shape is 32x32x3, but 'input_layer' is 64x64x3; leave input_shape out, or "
            "'input_layer'\n");
  EXPECT_EQ(errors("{VGG17: {}}"), "1:11 unknown layer 'VGG17'; did you mean 'VGG16'?\n");
  const std::string taken =
      errors("{Input: [32, 32, 3]}, {Conv2D: {name: Conv1, filters: 3, kernel_size: 1}}, MobileNetV2");
  EXPECT_NE(taken.find("Conv2D 'Conv1': the name 'Conv1' is taken\n  first used at net.yaml:1:33\n  in network "
                       "'MobileNetV2', used at net.yaml:1:85\n"),
            std::string::npos)
      << taken;
}

}  // namespace
}  // namespace dptrain::graph
