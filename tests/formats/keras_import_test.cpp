// Reads models from the description in a Keras file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/format.h"
#include "formats/keras/keras_config.h"
#include "formats/keras/keras_import.h"
#include "formats/keras_sample.h"
#include "nn/normalization.h"
#include "support/test_data.h"

namespace dptrain::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string config_of(const graph::Graph& graph) { return keras::model_config(graph); }

graph::Graph imported(const std::string& text) {
  return graph::graph_of(config::to_yaml(import_model_config("m.h5", text).model));
}

std::string refusal(const std::string& text) {
  try {
    import_model_config("m.h5", text);
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kCheckpoint ? error.what() : "another kind of error";
  }
  return "";
}

/// Reads back every layer with its arguments, shared ones included.
TEST(KerasImport, ReadsWhatWeWrite) {
  for (
      const char* yaml : {
          "layers: [{Input: {name: a, shape: [8, 8, 3]}}, {Conv2D: {name: c, filters: 4, kernel_size: [3, 1], strides: "
          "2, "
          "padding: same, groups: 1, activation: relu6, use_bias: false, kernel_initializer: {VarianceScaling: {scale: "
          "2}}, kernel_regularizer: {L2: 0.01}}}, {BatchNormalization: {name: b, scale: false, epsilon: 1.001e-5}}, "
          "{ZeroPadding2D: {name: z, padding: [[1, 2], [0, 3]]}}, {MaxPooling2D: {name: p, pool_size: 3, strides: 2}}, "
          "{AveragePooling2D: {name: q, pool_size: 2, padding: same}}, {ReLU: {name: r, max_value: 6}}, {LeakyReLU: "
          "{name: l, negative_slope: 0.1}}, {Dropout: {name: d, rate: 0.25}}, {Flatten: {name: f}}, {Dense: {name: o, "
          "units: 3, activation: softmax, trainable: false}}]",
          "layers: [{Input: {name: a, shape: [4]}}, {Dense: {name: b, units: 3, activation: hard_sigmoid}}, "
          "{Activation: "
          "{name: c, activation: hard_swish}}, {Dense: {name: d, units: 3, activation: mish}}, {Activation: {name: e, "
          "activation: hard_sigmoid}}, {Dense: {name: f, units: 3, activation: log_softmax}}]",
          "shared: {code: {Dense: {units: 3}}}\nlayers: [{Input: {name: a, shape: [4]}}, {Input: {name: b, shape: "
          "[4]}}, "
          "{code: {name: code_call1, inputs: a}}, {code: {name: code_call2, inputs: b}}, {Multiply: {name: m, inputs: "
          "[code_call2, code_call1]}}, {Concatenate: {name: c, inputs: [m, code_call1], axis: -1}}]",
      }) {
    const graph::Graph graph = graph::graph_of(yaml);
    const graph::Graph again = imported(config_of(graph));
    EXPECT_EQ(config_of(again), config_of(graph));
    EXPECT_EQ(graph::wiring(again), graph::wiring(graph));
  }
}

/// The Keras 3 operation `x + 3.0` with these arguments in JSON; T is replaced by the tensor.
std::string operation(const std::string& name, std::string arguments) {
  const std::string tensor = R"({"class_name": "__keras_tensor__", "config": {"keras_history": ["x", 0, 0]}})";
  for (std::size_t at = 0; (at = arguments.find('T', at)) != std::string::npos; at += tensor.size())
    arguments.replace(at, 1, tensor);
  return R"({"class_name": "Functional", "config": {"name": "m", "layers": [
    {"class_name": "InputLayer", "name": "x", "config": {"batch_shape": [null, 5], "name": "x"}, "inbound_nodes": []},
    {"class_name": ")" +
         name + R"(", "name": "op", "config": {"name": "op"}, "inbound_nodes": [{"args": [)" + arguments +
         R"(], "kwargs": {}}]}], "input_layers": [["x", 0, 0]], "output_layers": [["op", 0, 0]]}})";
}

TEST(KerasImport, ReadsArithmeticWithNumbersAsRescaling) {
  struct Expected {
    const char *name, *arguments;
    double scale, offset;
  };
  for (const Expected& e : {Expected{"Add", "T, 3.0", 1, 3},
                            {"Add", "3, T", 1, 3},
                            {"Subtract", "T, 0.5", 1, -0.5},
                            {"Subtract", "2.0, T", -1, 2},
                            {"Multiply", "T, 0.25", 0.25, 0},
                            {"Multiply", "5, T", 5, 0},
                            {"TrueDivide", "T, 4.0", 0.25, 0},
                            {"Divide", "T, 8", 0.125, 0},
                            {"Negative", "T", -1, 0}}) {
    const graph::Graph graph = imported(operation(e.name, e.arguments));
    const auto* spec = graph.layers.back().spec.get_if<nn::RescalingSpec>();
    ASSERT_NE(spec, nullptr) << e.name;
    EXPECT_EQ(graph.layers.back().name, "op");
    EXPECT_EQ(spec->scale.values, std::vector<double>{e.scale}) << e.name << " " << e.arguments;
    EXPECT_EQ(spec->offset.values, std::vector<double>{e.offset}) << e.name << " " << e.arguments;
  }
  EXPECT_EQ(graph::wiring(imported(operation("Add", "T, T"))), "x, op <- x x");
  EXPECT_THAT(refusal(operation("TrueDivide", "1.0, T")), HasSubstr("is called with 1.0, which is not a tensor"));
  EXPECT_THAT(refusal(operation("Maximum", "T, 0.5")), HasSubstr("is called with 0.5, which is not a tensor"));
}

TEST(KerasImport, Keras2WithAModelCalledTwice) {
  const KerasImport import = import_model(dptrain::test::test_data("golden/keras2_siamese.h5"));
  EXPECT_EQ(import.name, "siamese");
  const graph::Graph graph = graph::graph_of(config::to_yaml(import.model));
  EXPECT_EQ(graph.layers.size(), 11U);
  EXPECT_EQ(graph.nodes.size(), 18U);
  EXPECT_THAT(graph::wiring(graph), HasSubstr("backbone_add_call2 <- backbone_r1_call2 backbone_c2_call2"));
  EXPECT_THAT(graph::wiring(graph), HasSubstr("cat <- code_call1 code_call2"));
  const KerasImport archive = import_model(dptrain::test::test_data("golden/keras2_siamese.keras"));
  EXPECT_TRUE(config::same(archive.model, import.model));
}

TEST(KerasImport, SequentialOfKeras3) {
  for (const char* form : {".h5", ".keras"}) {
    const KerasImport import = import_model(dptrain::test::test_data(std::string("golden/keras3_C") + form));
    EXPECT_EQ(graph::wiring(graph::graph_of(config::to_yaml(import.model))),
              "input_layer, dense_1 <- input_layer, dropout <- dense_1, dense_2 <- dropout")
        << form;
  }
}

TEST(KerasImport, SequentialWithTheShapeInTheFirstLayer) {
  const graph::Graph graph = imported(
      R"({"class_name": "Sequential", "config": [{"class_name": "Dense", "config": {"name": "fc/1",
      "batch_input_shape": [null, 4], "units": 2, "kernel_initializer": {"class_name": "VarianceScaling", "config":
      {"scale": 1.0, "mode": "fan_avg", "distribution": "uniform", "seed": null}}}}]})");
  EXPECT_EQ(graph::wiring(graph), "fc_1_input, fc_1 <- fc_1_input");
  EXPECT_EQ(graph.nodes[1].output(), Shape{2});
}

constexpr const char* kOpenShape = R"({"class_name": "Functional", "config": {"layers": [
  {"class_name": "InputLayer", "name": "in", "config": {"batch_input_shape": [null, null, null, 3]}, "inbound_nodes": []},
  {"class_name": "GlobalAveragePooling2D", "name": "gap", "config": {}, "inbound_nodes": [[["in", 0, 0, {}]]]}],
  "input_layers": [["in", 0, 0]], "output_layers": [["gap", 0, 0]]}})";

TEST(KerasImport, RequestsExtentsOfAnOpenInputShape) {
  EXPECT_THAT(refusal(kOpenShape), HasSubstr("layer 'in' (InputLayer): its shape is [null,null,null,3]; set all its "
                                             "extents, as in {file: ..., input_shape: [224, 224, 3]}"));
  const KerasImport import = import_model_config("m.h5", kOpenShape, Shape{9, 7, 3});
  EXPECT_EQ(graph::graph_of(config::to_yaml(import.model)).nodes[0].output(), (Shape{9, 7, 3}));
}

TEST(KerasImport, NamesEverythingThatIsNotSupported) {
  const std::string text = refusal(R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
    {"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [null, 4, 4, 3]}},
    {"class_name": "Conv2D", "config": {"name": "c", "filters": 3, "kernel_size": [1, 1],
     "data_format": "channels_first", "kernel_constraint": {"class_name": "MaxNorm", "config": {"max_value": 2}}}},
    {"class_name": "RandomFlip", "config": {"name": "flip"}},
    {"class_name": "Lambda", "config": {"name": "l"}}]}})");
  EXPECT_THAT(text, HasSubstr("layer 'flip' (RandomFlip): is of class RandomFlip, an augmentation"));
  EXPECT_THAT(text, HasSubstr("'m.h5': the model cannot be built:\n"));
  EXPECT_THAT(text,
              HasSubstr("layer 'c' (Conv2D): argument 'data_format' is not supported, found \"channels_first\"\n"));
  EXPECT_THAT(text, HasSubstr("argument 'kernel_constraint' is not supported, found {\"class_name\":\"MaxNorm\""));
  EXPECT_THAT(text, HasSubstr("layer 'l' (Lambda): is of class Lambda, which dptrain does not support"));
}

/// BatchNormalization over parts of the batch, or with corrected moments, computes something else in training.
TEST(KerasImport, RejectsOtherKindsOfNormalization) {
  const auto normalization = [](const std::string& arguments) {
    return R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
      {"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [null, 4]}},
      {"class_name": "BatchNormalization", "config": {"name": "b", )" +
           arguments + "}}]}}";
  };
  EXPECT_THAT(refusal(normalization(R"("virtual_batch_size": 8)")),
              HasSubstr("layer 'b' (BatchNormalization): argument 'virtual_batch_size' is not supported, found 8"));
  EXPECT_THAT(refusal(normalization(R"("renorm": true, "renorm_momentum": 0.9, "renorm_clipping": {"rmax": 3})")),
              HasSubstr("layer 'b' (BatchNormalization): argument 'renorm' is not supported, found true"));
  EXPECT_EQ(refusal(normalization(R"("virtual_batch_size": null, "renorm": false, "renorm_momentum": 0.9,
                                     "renorm_clipping": {"rmax": 3})")),
            "");
}

std::string dense_with(const std::string& activation) {
  return R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
    {"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [null, 4]}},
    {"class_name": "Dense", "config": {"name": "d", "units": 3, "activation": )" +
         activation + "}}]}}";
}

std::string activation_of(const config::Node& model) {
  const graph::Graph graph = graph::graph_of(config::to_yaml(model));
  return nn::name_of(*nn::activation_of(graph.layers.at(1).spec));
}

/// Keras 2 and Keras 3 use the name hard_sigmoid for different functions; the file's version decides.
TEST(KerasImport, ResolvesNamesByTheVersionOfKeras) {
  constexpr const char* kRefusal =
      "layer 'd' (Dense): activation \"hard_sigmoid\" of Keras 2, which wrote the file, is clip(0.2 x + 0.5, 0, 1), "
      "which "
      "here is Rescaling: {scale: 0.2, offset: 0.5} and ReLU: {max_value: 1}; Keras 3 and dptrain compute another "
      "function under that name";
  const std::string plain = dense_with("\"hard_sigmoid\"");
  EXPECT_THAT(refusal(plain), HasSubstr(kRefusal));
  EXPECT_EQ(activation_of(import_model_config("m.h5", plain, {}, {.keras3 = true}).model), "hard_sigmoid");
  const auto object = [](const std::string& module) {
    return dense_with(R"({"module": ")" + module + R"(", "class_name": "function", "config": "hard_sigmoid",
                         "registered_name": "hard_sigmoid"})");
  };
  EXPECT_THAT(refusal(object("builtins")), HasSubstr("is clip(0.2 x + 0.5, 0, 1)"));
  EXPECT_EQ(activation_of(import_model_config("m.h5", object("keras.ops")).model), "hard_sigmoid");
  for (const char* same : {"mish", "softsign", "exponential", "log_softmax", "hard_silu"})
    EXPECT_EQ(activation_of(import_model_config("m.h5", dense_with('"' + std::string(same) + '"')).model), same);
  EXPECT_EQ(activation_of(import_model_config("m.h5", dense_with("\"hard_swish\"")).model), "hard_silu");
}

TEST(KerasImport, AFileStatesTheVersionOfItsWriter) {
  const auto version = [](const std::string& name) {
    return FileContents::open(dptrain::test::test_data("golden/" + name)).keras_version();
  };
  for (const char* form : {"keras3_C.h5", "keras3_C.keras", "keras3_C_deflated.keras"})
    EXPECT_TRUE(keras_writer(version(form), false).keras3) << form;
  for (const char* form : {"keras2_siamese.h5", "keras2_siamese.keras"})
    EXPECT_FALSE(keras_writer(version(form), false).keras3) << form;
  for (const char* other : {"", "2.15.0-tf", "unknown"}) {
    EXPECT_EQ(sample::legacy_file({}, {.keras_version = other}).keras_version(), other);
    EXPECT_FALSE(keras_writer(other, false).keras3) << other;
  }
}

TEST(KerasImport, MergesFollowTheWritersVersion) {
  for (const auto& [version, merges] : std::map<std::string, MergeMasks>{{"2.15.0", MergeMasks::kAllOfMasked},
                                                                         {"", MergeMasks::kAllOfMasked},
                                                                         {"3.0.5", MergeMasks::kNone},
                                                                         {"3.3.3", MergeMasks::kNone},
                                                                         {"3.4.0", MergeMasks::kAnyOfAll},
                                                                         {"3.15.1", MergeMasks::kAnyOfAll},
                                                                         {"4.0", MergeMasks::kAnyOfAll}}) {
    EXPECT_EQ(keras_writer(version, false).merges, merges) << version;
    EXPECT_EQ(keras_writer(version, true).merges, MergeMasks::kAnyOfAll) << version;
  }
  EXPECT_TRUE(keras_writer("3.15.1", false).states_replace_masks);
  EXPECT_FALSE(keras_writer("3.0.0", true).states_replace_masks);
  EXPECT_FALSE(keras_writer("2.15.0", false).states_replace_masks);
}

TEST(KerasImport, RejectsInvalidConfigs) {
  EXPECT_THAT(refusal(""), HasSubstr("contains no Sequential or Functional model: it has only weights"));
  for (const char* text :
       {"{", "[]", R"({"class_name": "Functional", "config": {"layers": []}})",
        R"({"class_name": "Functional", "config": {"layers": [{"class_name": "Add"}]}})",
        R"({"class_name": "Functional", "config": {"layers": [{"class_name": "Add", "name": "a", "inbound_nodes":
         [[["b", 0, 0, {}]]]}], "input_layers": [["a", 0, 0]], "output_layers": [["a", 0, 0]]}})",
        R"({"class_name": "Functional", "config": {"layers": [{"class_name": "Add", "name": "a", "inbound_nodes":
         [[["a", 0, 0, {}]]]}], "input_layers": [["a", 0, 0]], "output_layers": [["a", 0, 0]]}})",
        R"({"class_name": "Functional", "config": {"layers": [{"class_name": "InputLayer", "name": "a"}],
         "input_layers": [["a", 0, 0]], "output_layers": [["a", 7, 0]]}})"})
    EXPECT_THAT(refusal(text), HasSubstr("m.h5")) << text;
}

/// A model of one input `in` and of layers, each with the names of its inputs.
struct Listed {
  std::string class_name, name;
  std::vector<std::string> calls;
};
std::string functional(const std::vector<Listed>& layers, const std::string& output) {
  std::string text = R"({"class_name": "Functional", "config": {"name": "m", "layers": [)"
                     R"({"class_name": "InputLayer", "name": "in", "config": {"batch_shape": [null, 4]}, )"
                     R"("inbound_nodes": []})";
  for (const Listed& layer : layers) {
    text += fmt::format(R"(, {{"class_name": "{}", "name": "{}", "config": {{}}, "inbound_nodes": [)", layer.class_name,
                        layer.name);
    for (std::size_t c = 0; c < layer.calls.size(); ++c)
      text += fmt::format(R"({}[["{}", 0, 0, {{}}]])", c == 0 ? "" : ", ", layer.calls[c]);
    text += "]}";
  }
  return text + fmt::format(R"(], "input_layers": [["in", 0, 0]], "output_layers": [["{}", 0, 0]]}}}})", output);
}

std::vector<std::string> steps_of(const std::string& model_config) {
  std::vector<std::string> names;
  const KerasImport imported = import_model_config("m.h5", model_config);
  for (const config::Node& step : imported.model.find("layers")->items())
    names.push_back(step.entries().front().value.find("name")->str());
  return names;
}

/// Repeated passes over the list take the calls whose inputs are available; configs and their checkpoints depend on
/// this order. Calls that the input does not reach are omitted.
TEST(KerasImport, KeepsTheOrderOfTheList) {
  EXPECT_THAT(steps_of(functional({{"ReLU", "a", {"in"}}, {"ReLU", "b", {"in"}}, {"ReLU", "c", {"a"}}}, "c")),
              ElementsAre("in", "a", "b", "c"));
  EXPECT_THAT(steps_of(functional({{"ReLU", "d", {"c"}},
                                   {"ReLU", "b", {"a"}},
                                   {"ReLU", "c", {"b"}},
                                   {"ReLU", "a", {"in"}},
                                   {"ReLU", "e", {"in"}},
                                   {"ReLU", "circle", {"circle"}}},
                                  "d")),
              ElementsAre("in", "a", "e", "b", "c", "d"));
  EXPECT_THAT(steps_of(functional({{"ReLU", "s", {"b", "in"}}, {"ReLU", "a", {"in"}}, {"ReLU", "b", {"a"}}}, "s")),
              ElementsAre("in", "s_call1", "a", "b", "s_call2"));
}

/// Takes minutes if each layer needs a pass over the list, or if each search for a free name begins at 1: the names
/// differ only in characters that the config language does not have.
TEST(KerasImport, ManyLayersFromTheOutputToTheInput) {
  constexpr int kCount = 15'000;
  const auto name = [](int i) {
    std::string all = fmt::format("{:05}", i);
    for (char& c : all) c = "!#$%&()*:;"[c - '0'];
    return "r" + all;
  };
  std::vector<Listed> layers;
  for (int i = kCount; i-- > 0;) layers.push_back({"ReLU", name(i), {i == 0 ? "in" : name(i - 1)}});
  const std::vector<std::string> steps = steps_of(functional(layers, layers.front().name));
  ASSERT_EQ(steps.size(), kCount + 1U);
  EXPECT_EQ(steps[1], "r_____");
  for (int i = 1; i < kCount; ++i) ASSERT_EQ(steps[static_cast<std::size_t>(i) + 1], fmt::format("r______{}", i));
}

/// An outer graph of slices and a concatenation around one model, as made by multi_gpu_model of Keras 2.
TEST(KerasImport, ReadsTheInnerModelOfAMultiGpuModel) {
  const graph::Graph graph = imported(R"({"class_name": "Model", "config": {"name": "model_2", "layers": [
    {"class_name": "InputLayer", "name": "input_1", "config": {"batch_input_shape": [null, 3]}, "inbound_nodes": []},
    {"class_name": "Lambda", "name": "lambda_1", "config": {}, "inbound_nodes": [[["input_1", 0, 0, {}]]]},
    {"class_name": "Model", "name": "model_1", "config": {"name": "model_1", "layers": [
      {"class_name": "InputLayer", "name": "x", "config": {"batch_input_shape": [null, 3]}, "inbound_nodes": []},
      {"class_name": "Dense", "name": "fc", "config": {"units": 2}, "inbound_nodes": [[["x", 0, 0, {}]]]}],
      "input_layers": [["x", 0, 0]], "output_layers": [["fc", 0, 0]]}, "inbound_nodes": [[["lambda_1", 0, 0, {}]]]},
    {"class_name": "Concatenate", "name": "fc", "config": {}, "inbound_nodes": [[["model_1", 1, 0, {}]]]}],
    "input_layers": [["input_1", 0, 0]], "output_layers": [["fc", 0, 0]]}})");
  EXPECT_EQ(graph::wiring(graph), "x, fc <- x");
}

}  // namespace
}  // namespace dptrain::formats
