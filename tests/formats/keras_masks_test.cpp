// Operations, user-defined masks, and merges of older releases in Keras files: the resulting `mask` of the steps.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "formats/keras/keras_config.h"
#include "formats/keras/keras_graph.h"
#include "formats/keras/keras_import.h"
#include "graph/example.h"

namespace dptrain::formats {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

const KerasWriter kKeras3 = keras_writer("3.15.1", false), kKeras2 = keras_writer("2.15.0", false);

json tensor(const std::string& layer, const json& shape = {nullptr, 5, 4}) {
  return {{"class_name", "__keras_tensor__"}, {"config", {{"keras_history", {layer, 0, 0}}, {"shape", shape}}}};
}

/// A list. Braces would not make one of a single element.
template <class... Elements>
json args(const Elements&... elements) {
  json list = json::array();
  (list.push_back(elements), ...);
  return list;
}

/// A model of Keras 3 that reads ids [5] or numbers [5, 4], written layer by layer.
class Model {
 public:
  explicit Model(const json& shape = {nullptr, 5}, const std::string& dtype = "int32") {
    layers_.push_back({{"module", "keras.layers"},
                       {"class_name", "InputLayer"},
                       {"name", "x"},
                       {"config", {{"batch_shape", shape}, {"dtype", dtype}, {"name", "x"}}},
                       {"inbound_nodes", json::array()}});
  }
  Model& layer(const std::string& type, const std::string& name, json config, const json& args,
               const json& kwargs = json::object()) {
    config["name"] = name;
    config["trainable"] = true;
    config["dtype"] = "float32";
    return add("keras.layers", type, name, config, args, kwargs);
  }
  Model& operation(const std::string& type, const std::string& name, const json& args, json config = json::object()) {
    config["name"] = name;
    return add("keras.src.ops.numpy", type, name, config, args, json::object());
  }
  Model& embedding(const std::string& name, bool mask_zero) {
    return layer("Embedding", name, {{"input_dim", 7}, {"output_dim", 4}, {"mask_zero", mask_zero}}, args(tensor("x")));
  }
  Model& lstm(const json& args, const json& kwargs, const std::string& name = "lstm") {
    return layer("LSTM", name, {{"units", 3}}, args, kwargs);
  }
  /// In the format of an .h5.
  Model& without_modules() {
    for (json& layer : layers_) layer.erase("module");
    return *this;
  }

  /// The steps with a mask, and the mask: "sum: none".
  std::vector<std::string> masks(const KerasWriter& writer = kKeras3) const {
    const graph::Graph graph = built(writer);
    std::vector<std::string> all;
    for (const graph::Node& node : graph.nodes)
      if (node.mask)
        all.push_back(node.name + ": " + (node.mask->node < 0 ? "none" : graph::name_of(graph, *node.mask)));
    return all;
  }
  graph::Graph built(const KerasWriter& writer = kKeras3) const {
    return graph::graph_of(config::to_yaml(import_model_config("m.keras", text(), std::nullopt, writer).model));
  }
  std::string refusal(const KerasWriter& writer = kKeras3) const {
    try {
      import_model_config("m.keras", text(), std::nullopt, writer);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  std::string text() const {
    const json last = layers_.back().at("name");
    return json{
        {"class_name", "Functional"},
        {"config",
         {{"name", "m"}, {"layers", layers_}, {"input_layers", {{"x", 0, 0}}}, {"output_layers", {{last, 0, 0}}}}}}
        .dump();
  }

 private:
  Model& add(const std::string& module, const std::string& type, const std::string& name, const json& config,
             const json& args, const json& kwargs) {
    layers_.push_back({{"module", module},
                       {"class_name", type},
                       {"name", name},
                       {"config", config},
                       {"inbound_nodes", {{{"args", args}, {"kwargs", kwargs}}}}});
    return *this;
  }

  json layers_ = json::array();
};

Model masked() { return Model().embedding("words", true); }

TEST(KerasMasks, EndAtOperations) {
  Model model = masked();
  model.layer("Dense", "dense", {{"units", 4}}, args(tensor("words")));
  model.operation("Add", "sum", args(tensor("words"), tensor("dense"))).lstm(args(tensor("sum")), {{"mask", nullptr}});
  EXPECT_THAT(model.masks(), ElementsAre("sum: none"));
  EXPECT_THAT(model.without_modules().masks(), ElementsAre("sum: none"));
  EXPECT_THAT(
      masked().operation("Multiply", "twice", args(tensor("words"), 2.0)).lstm(args(tensor("twice")), {}).masks(),
      ElementsAre("twice: none"));
}

TEST(KerasMasks, OfMergingLayersAreDerived) {
  Model model = masked();
  model.operation("NotEqual", "valid", args(tensor("x"), 0))
      .layer("Dense", "dense", {{"units", 4}}, args(tensor("words")));
  model.layer("Add", "sum", json::object(), args(args(tensor("words"), tensor("dense"))));
  model.operation("LogicalOr", "both", args(tensor("valid"), tensor("valid")));
  EXPECT_THAT(model.lstm(args(tensor("sum")), {{"mask", tensor("both")}}).masks(), ElementsAre());
}

TEST(KerasMasks, UseThoseOfTheUser) {
  Model other = masked();
  other.embedding("plain", false).operation("NotEqual", "valid", args(tensor("x"), 0));
  other.lstm(args(tensor("plain")), {{"mask", tensor("valid")}})
      .lstm(args(tensor("words")), {{"mask", tensor("valid")}}, "b");
  other.layer("Concatenate", "all", json::object(), args(args(tensor("lstm"), tensor("b"))));
  EXPECT_THAT(other.masks(), ElementsAre("lstm: words"));

  const auto refused = [](Model model, const json& number) {
    return model.operation("NotEqual", "valid", args(tensor("x"), number))
        .lstm(args(tensor("words")), {{"mask", tensor("valid")}})
        .refusal();
  };
  EXPECT_EQ(refused(masked(), 0), "");
  for (const std::string& message : {refused(masked(), 3), refused(Model().embedding("words", false), 0)})
    EXPECT_THAT(message, HasSubstr("layer 'lstm' (LSTM): its mask is not made by a layer of the model"));
  EXPECT_THAT(masked()
                  .operation("Equal", "same", args(tensor("x"), 0))
                  .lstm(args(tensor("words")), {{"mask", tensor("same")}})
                  .refusal(),
              HasSubstr("is called with 0, which is not a tensor"));
  EXPECT_THAT(masked().lstm(args(tensor("words")), {{"mask", tensor("words")}}).refusal(),
              HasSubstr("layer 'lstm' is called with 'words' for a mask. dptrain has the masks of Embedding"));
}

TEST(KerasMasks, OfMaskingAreFoundByItsNumber) {
  const auto model = [](double number) {
    Model all({nullptr, 5, 4}, "float32");
    all.layer("Masking", "valid", {{"mask_value", 0.5}}, args(tensor("x")));
    all.operation("NotEqual", "differs", args(tensor("x"), number));
    all.operation("Any", "any", args(tensor("differs")), {{"axis", -1}, {"keepdims", false}});
    all.lstm(args(tensor("x")), {{"mask", tensor("any")}}).lstm(args(tensor("valid")), {{"mask", tensor("any")}}, "b");
    return all.layer("Concatenate", "all", json::object(), args(args(tensor("lstm"), tensor("b"))));
  };
  EXPECT_THAT(model(0.5).masks(), ElementsAre("lstm: valid"));
  EXPECT_THAT(model(0.25).refusal(), HasSubstr("its mask is not made by a layer of the model"));
}

TEST(KerasMasks, NeedToBeExplicitWithAnInitialState) {
  const auto model = [](const json& mask) {
    Model all = masked();
    all.operation("NotEqual", "valid", args(tensor("x"), 0));
    all.layer("GlobalAveragePooling1D", "mean", json::object(), args(tensor("words")), {{"mask", tensor("valid")}});
    all.layer("Dense", "state", {{"units", 3}}, args(tensor("mean")));
    json keywords{{"initial_state", tensor("state")}};
    if (!mask.is_null()) keywords["mask"] = mask;
    all.layer("GRU", "gru", {{"units", 3}, {"return_sequences", true}}, args(tensor("words")), keywords);
    return all.layer("GlobalAveragePooling1D", "out", json::object(), args(tensor("gru")), {{"mask", tensor("valid")}});
  };
  EXPECT_THAT(model(nullptr).masks(), ElementsAre("gru: none", "out: words"));
  EXPECT_THAT(model(tensor("valid")).masks(), ElementsAre());
  EXPECT_THAT(model(nullptr).masks(kKeras2), ElementsAre());
}

TEST(KerasMasks, OfMergesFollowTheWritersRelease) {
  const auto model = [](const std::string& merge, bool second) {
    Model all = masked();
    all.embedding("places", second).layer(merge, "sum", json::object(), args(args(tensor("words"), tensor("places"))));
    return all.lstm(args(tensor("sum")), json::object());
  };
  const KerasWriter keras33 = keras_writer("3.3.3", false);
  for (const char* merge : {"Add", "Average", "Concatenate", "Subtract"})
    EXPECT_THAT(model(merge, false).masks(kKeras2), ElementsAre("sum: words")) << merge;
  EXPECT_THAT(model("Multiply", false).masks(kKeras2), ElementsAre("sum: none", "lstm: words"));
  EXPECT_THAT(model("Add", false).masks(keras33), ElementsAre());
  EXPECT_THAT(model("Add", true).masks(keras33), ElementsAre("sum: none"));
  EXPECT_THAT(model("Add", false).masks(kKeras3), ElementsAre());
  // Both embeddings read the same ids and have the same mask.
  for (const KerasWriter& writer : {kKeras2, kKeras3})
    EXPECT_THAT(model("Add", true).masks(writer), ElementsAre("lstm: words"));
}

TEST(KerasMasks, RejectThoseThatKeras2JoinsByAnd) {
  Model model = masked();
  model.layer("Masking", "late", {{"mask_value", 0.5}}, args(tensor("words")));
  model.layer("Add", "sum", json::object(), args(args(tensor("words"), tensor("late"))))
      .lstm(args(tensor("sum")), json::object());
  EXPECT_THAT(model.refusal(kKeras2),
              HasSubstr("layer 'sum' (Add): its inputs 'words' and 'late' have different masks"));
}

TEST(KerasMasks, OfAnAttentionLayerAreOnePerInput) {
  const auto model = [](const json& masks) {
    Model all = masked();
    all.embedding("plain", false).operation("NotEqual", "valid", args(tensor("x"), 0));
    return all.layer("Attention", "out", json::object(), args(args(tensor("words"), tensor("plain"))),
                     {{"mask", masks}});
  };
  EXPECT_THAT(model(args(tensor("valid"), nullptr)).masks(), ElementsAre());
  EXPECT_THAT(model(args(tensor("valid"), tensor("valid"))).masks(), ElementsAre("out: words"));
  EXPECT_THAT(model(args(nullptr, nullptr)).masks(), ElementsAre("out: none"));
  EXPECT_THAT(model(args(nullptr, tensor("valid"))).refusal(),
              HasSubstr("its mask is not made by a layer of the model"));
}

TEST(KerasOperations, BecomeEquivalentLayers) {
  const auto yaml = [](const std::string& type, const json& args, const json& config = json::object()) {
    return graph::describe_graph(Model({nullptr, 5, 4}, "float32").operation(type, "out", args, config).built());
  };
  const auto same = [](const std::string& step) {
    return graph::describe_graph(graph::graph_of("layers:\n  - Input: {name: x, shape: [5, 4]}\n  - " + step + "\n"));
  };
  const json x = args(tensor("x"));
  EXPECT_EQ(yaml("Relu", x), same("Activation: {name: out, activation: relu}"));
  EXPECT_EQ(yaml("Silu", x), same("Activation: {name: out, activation: silu}"));
  EXPECT_EQ(yaml("Gelu", x, {{"approximate", false}}), same("Activation: {name: out, activation: gelu}"));
  EXPECT_EQ(yaml("LogSoftmax", x, {{"axis", -1}}), same("Activation: {name: out, activation: log_softmax}"));
  EXPECT_EQ(yaml("LeakyRelu", x, {{"negative_slope", 0.25}}), same("LeakyReLU: {name: out, negative_slope: 0.25}"));
  EXPECT_EQ(yaml("Elu", x, {{"alpha", 2.0}}), same("ELU: {name: out, alpha: 2}"));
  EXPECT_EQ(yaml("Subtract", args(1, tensor("x"))), same("Rescaling: {name: out, scale: -1, offset: 1}"));
  for (const char* missing : {"Mean", "Average", "Reshape"})
    EXPECT_THAT(Model().operation(missing, "out", x).refusal(),
                HasSubstr(fmt::format("layer 'out' ({}): is an operation of keras.ops, which dptrain does not support",
                                      missing)));
  EXPECT_THAT(Model().operation("Gelu", "out", x, {{"approximate", true}}).refusal(), HasSubstr("is an operation"));
  EXPECT_EQ(
      graph::describe_graph(Model({nullptr, 5, 4}, "float32").layer("Identity", "out", json::object(), x).built()),
      same("Activation: {name: out, activation: linear}"));
}

TEST(KerasOperations, WithConstantsBecomeRescaling) {
  const auto constant = [](const json& value, const char* kind = "__numpy__") {
    return json{{"class_name", kind}, {"config", {{"value", value}, {"dtype", "float32"}}}};
  };
  const auto model = [](const std::string& type, const json& arguments) {
    return Model({nullptr, 5, 4}, "float32").operation(type, "out", arguments);
  };
  const auto same = [](const std::string& settings) {
    return graph::describe_graph(graph::graph_of(
        "layers:\n  - Input: {name: x, shape: [5, 4]}\n  - Rescaling: {name: out, " + settings + "}\n"));
  };
  const json four = constant(args(1.0, 2.0, 4.0, 8.0)),
             deep = constant(args(args(args(1.0, 2.0, 4.0, 8.0))), "__tensor__");
  const json x = tensor("x");
  EXPECT_EQ(graph::describe_graph(model("Add", args(x, four)).built()), same("scale: 1, offset: [1, 2, 4, 8]"));
  EXPECT_EQ(graph::describe_graph(model("Multiply", args(deep, x)).built()), same("scale: [1, 2, 4, 8]"));
  EXPECT_EQ(graph::describe_graph(model("Subtract", args(x, four)).built()),
            same("scale: 1, offset: [-1, -2, -4, -8]"));
  EXPECT_EQ(graph::describe_graph(model("Subtract", args(four, x)).built()), same("scale: -1, offset: [1, 2, 4, 8]"));
  EXPECT_EQ(graph::describe_graph(model("TrueDivide", args(x, four)).built()), same("scale: [1, 0.5, 0.25, 0.125]"));
  EXPECT_EQ(graph::describe_graph(model("Add", args(x, constant(args(3.0)))).built()), same("scale: 1, offset: 3"));
  const json positions = constant(args(args(1.0, 2.0, 4.0, 8.0), args(1.0, 2.0, 4.0, 8.0)));
  EXPECT_THAT(model("Add", args(x, positions)).refusal(),
              HasSubstr("layer 'out' is called with a constant. dptrain has"));
  EXPECT_THAT(model("TrueDivide", args(four, x)).refusal(), HasSubstr("layer 'out' is called with a constant"));
}

TEST(KerasOperations, SlicesOfStepsBecomeCropping) {
  const auto range = [](const json& start, const json& stop, const json& step = nullptr) {
    return json{{"class_name", "__slice__"}, {"config", {{"start", start}, {"stop", stop}, {"step", step}}}};
  };
  const json all = range(nullptr, nullptr), rest{{"class_name", "__ellipsis__"}, {"config", json::object()}};
  const auto model = [](const json& index) {
    return Model({nullptr, 5, 4}, "float32").operation("GetItem", "out", args(tensor("x"), index));
  };
  const auto same = [](const std::string& steps) {
    return graph::describe_graph(graph::graph_of("layers:\n  - Input: {name: x, shape: [5, 4]}\n" + steps));
  };
  const auto cropped = [&](int before, int after) {
    return same(fmt::format("  - Cropping1D: {{name: out, cropping: [{}, {}]}}\n", before, after));
  };
  const auto step = [&](int before, int after) {
    return same(fmt::format("  - Cropping1D: {{name: out_steps, cropping: [{}, {}]}}\n  - Flatten: {{name: out}}\n",
                            before, after));
  };
  EXPECT_EQ(graph::describe_graph(model({all, range(1, 3)}).built()), cropped(1, 2));
  EXPECT_EQ(graph::describe_graph(model({all, range(-2, nullptr), rest}).built()), cropped(3, 0));
  EXPECT_EQ(graph::describe_graph(model({all, range(nullptr, 9), all}).built()),
            same("  - Activation: {name: out, activation: linear}\n"));
  EXPECT_EQ(graph::describe_graph(model({all, 0}).built()), step(0, 4));
  EXPECT_EQ(graph::describe_graph(model({all, -1, all}).built()), step(4, 0));
  for (const json& other : {json{all, range(0, 5, 2)}, json{all, all, 0}, json{rest, 0}, json{0, all}, json{all, 5},
                            json{all, nullptr}, json{all, range(3, 3)}})
    EXPECT_THAT(model(other).refusal(), HasSubstr("layer 'out' is a slice. dptrain has x[:, a:b] and x[:, i]"))
        << other;
  EXPECT_THAT(masked()
                  .operation("GetItem", "part", args(tensor("words"), args(all, range(1, 3))))
                  .lstm(args(tensor("part")), {})
                  .masks(),
              ElementsAre("part: none"));
}

/// Keras 2 writes the arguments of a call in its list of tensors.
std::string with_training(const std::string& type, const json& config, bool trainable) {
  json own = config;
  own["name"] = "out";
  own["trainable"] = trainable;
  const json call{"x", 0, 0, {{"training", false}}};
  const json layers{{{"class_name", "InputLayer"},
                     {"name", "x"},
                     {"config", {{"batch_input_shape", {nullptr, 5}}, {"name", "x"}}},
                     {"inbound_nodes", json::array()}},
                    {{"class_name", type}, {"name", "out"}, {"config", own}, {"inbound_nodes", {{call}}}}};
  const json model{
      {"name", "m"}, {"layers", layers}, {"input_layers", {{"x", 0, 0}}}, {"output_layers", {{"out", 0, 0}}}};
  return json{{"class_name", "Functional"}, {"config", model}}.dump();
}

TEST(KerasTraining, FalseIsInferenceModeInKeras2) {
  const auto read = [](const std::string& type, const json& config, const KerasWriter& writer, bool trainable = true) {
    return graph::graph_of(config::to_yaml(
        import_model_config("m.h5", with_training(type, config, trainable), std::nullopt, writer).model));
  };
  const auto norm = [&](const KerasWriter& writer, bool trainable = true) {
    return config::to_yaml(read("BatchNormalization", json::object(), writer, trainable).layers[1].spec.write());
  };
  EXPECT_THAT(norm(kKeras2), HasSubstr("inference_mode: true"));
  EXPECT_THAT(norm(kKeras3), HasSubstr("inference_mode: false"));
  EXPECT_THAT(norm(kKeras2, false), HasSubstr("inference_mode: false"));  // frozen
  const json wrapper{{"layer", {{"class_name", "BatchNormalization"}, {"config", {{"name", "norm"}}}}}};
  const auto wrapped = [&](bool trainable) {
    import_model_config("m.h5", with_training("TimeDistributed", wrapper, trainable), Shape{5, 4}, kKeras2);
  };
  EXPECT_NO_THROW(wrapped(false));
  EXPECT_THROW(wrapped(true), Error);
  EXPECT_THAT(config::to_yaml(read("Dropout", {{"rate", 0.5}}, kKeras2).layers[1].spec.write()), HasSubstr("rate: 0"));
  EXPECT_THAT(config::to_yaml(read("Dropout", {{"rate", 0.5}}, kKeras3).layers[1].spec.write()),
              HasSubstr("rate: 0.5"));
}

TEST(KerasTraining, OfNestedModelsAppliesToTheirLayers) {
  json base = json::parse(with_training("BatchNormalization", json::object(), true));
  base.at("config").at("layers")[1].at("inbound_nodes") = json::parse(R"([[["x", 0, 0, {}]]])");
  const auto model = [&](bool training) {
    json all = json::parse(with_training("Dense", {{"units", 2}}, true));
    json& list = all.at("config").at("layers");
    list[1].at("inbound_nodes") = json::parse(R"([[["base", 1, 0, {}]]])");
    json nested = base;
    nested["name"] = nested.at("config")["name"] = "base";
    nested["inbound_nodes"] = json::array({json::array({json{"x", 0, 0, {{"training", training}}}})});
    list.insert(list.begin() + 1, nested);
    return config::to_yaml(import_model_config("m.h5", all.dump(), std::nullopt, kKeras2).model);
  };
  EXPECT_THAT(model(false), HasSubstr("inference_mode: true"));
  EXPECT_THAT(model(true), testing::Not(HasSubstr("inference_mode")));
}

TEST(KerasMasks, OfAStepAreReadBack) {
  const graph::Graph graph = graph::graph_of(R"(
layers:
  - Input: {name: x, shape: [5], dtype: int32}
  - Embedding: {name: words, input_dim: 9, output_dim: 4, mask_zero: true}
  - Embedding: {name: plain, inputs: x, input_dim: 9, output_dim: 4}
  - LSTM: {name: a, inputs: words, units: 3, mask: none}
  - LSTM: {name: b, inputs: plain, units: 3, mask: words}
outputs: [a, b]
)");
  const std::string text = keras::model_config(graph);
  const KerasWriter ours = keras_writer("2.15.0", true);
  EXPECT_EQ(graph::describe_graph(
                graph::graph_of(config::to_yaml(import_model_config("m.h5", text, std::nullopt, ours).model))),
            graph::describe_graph(graph));
  EXPECT_THAT(keras::masks_advice(graph), ElementsAre(HasSubstr("Keras has no 'mask' of a layer, as of 'a' and 'b'")));
}

TEST(KerasMasks, WarnAboutThoseThatAttentionRemoves) {
  Model model = masked();
  model.layer("MultiHeadAttention", "own", {{"num_heads", 2}, {"key_dim", 2}}, args(tensor("words"), tensor("words")));
  const std::string alone = model.text();
  model.layer("Add", "sum", json::object(), args(args(tensor("words"), tensor("own"))));
  const auto warnings = [](const std::string& text, const std::string& version) {
    return import_model_config("m.keras", text, std::nullopt, keras_writer(version, false)).warnings;
  };
  EXPECT_THAT(warnings(model.text(), "3.8.0"),
              ElementsAre(HasSubstr("MultiHeadAttention 'own' and other layers read 'words', which has a mask")));
  EXPECT_THAT(warnings(model.text(), "3.7.0"), ElementsAre());
  EXPECT_THAT(warnings(alone, "3.8.0"), ElementsAre());
}

TEST(KerasMasks, NameThoseThatKerasUsesDifferently) {
  const graph::Graph graph = graph::graph_of(R"(
layers:
  - Input: {name: x, shape: [5], dtype: int32}
  - Embedding: {name: words, input_dim: 9, output_dim: 4, mask_zero: true}
  - MultiHeadAttention: {name: own, num_heads: 2, key_dim: 2}
  - Add: {name: sum, inputs: [words, own]}
  - GlobalAveragePooling1D: {name: mean}
  - Dense: {name: state, units: 3}
  - GRU: {name: gru, inputs: [words, state], units: 3}
)");
  EXPECT_THAT(keras::masks_advice(graph::graph_of(R"(
layers:
  - Input: {name: x, shape: [5], dtype: int32}
  - Embedding: {name: words, input_dim: 9, output_dim: 4, mask_zero: true}
  - GlobalAveragePooling1D: {name: mean}
  - Dense: {name: state, units: 3}
  - GRU: {name: gru, inputs: [words, state], units: 3, mask: none}
)")),
              ElementsAre());  // as in Keras 3
  EXPECT_THAT(keras::masks_advice(graph),
              ElementsAre(HasSubstr("does not use the mask of an input next to an initial state, as of 'gru'"),
                          HasSubstr("remove the masks of the inputs of MultiHeadAttention, as of 'own'")));
}

}  // namespace
}  // namespace dptrain::formats
