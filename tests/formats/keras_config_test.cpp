// model_config and training_config follow the worked examples and rules of docs/reference/keras-files.md.

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "formats/export_sample.h"
#include "formats/keras/keras_config.h"
#include "nn/counting_metrics.h"
#include "nn/losses.h"
#include "nn/metrics.h"
#include "nn/optimizers.h"
#include "support/test_data.h"

namespace dptrain::formats::keras {
namespace {

using Json = nlohmann::json;

Json golden(const std::string& file) {
  std::ifstream in(dptrain::test::test_data("golden/" + file));
  return Json::parse(in);
}

CompileConfig compiled_with(config::Typed optimizer, double rate, config::Typed loss) {
  CompileConfig c;
  c.optimizer = std::move(optimizer);
  c.learning_rate = rate;
  c.outputs.push_back({.loss = std::move(loss)});
  return c;
}

TEST(KerasConfig, EqualsTheWorkedExample) {
  const std::string text = model_config(sample::tiny_cnn().graph);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(Json::parse(text), golden("minimal_functional.json"));
}

TEST(KerasConfig, ASharedLayerHasTwoCalls) {
  sample::ModelBuilder b("siamese");
  const int left = b.add("left", nn::InputSpec{{6}});
  const int right = b.add("right", nn::InputSpec{{6}});
  const int first = b.add("shared_lstm", sample::dense(4), {left});  // replaces the golden file's LSTM
  const int second = b.again(first, {right});
  const int merge = b.add("merge", nn::ConcatenateSpec{}, {first, second});
  const int score = b.add("score", sample::dense(1, nn::Activation::kSigmoid), {merge});
  const Json found = Json::parse(model_config(b.take({score}).graph)), expected = golden("shared_lstm.json");

  EXPECT_EQ(found["config"]["input_layers"], expected["config"]["input_layers"]);
  EXPECT_EQ(found["config"]["output_layers"], expected["config"]["output_layers"]);
  ASSERT_EQ(found["config"]["layers"].size(), expected["config"]["layers"].size());
  for (std::size_t i = 0; i < found["config"]["layers"].size(); ++i) {
    EXPECT_EQ(found["config"]["layers"][i]["name"], expected["config"]["layers"][i]["name"]);
    EXPECT_EQ(found["config"]["layers"][i]["inbound_nodes"], expected["config"]["layers"][i]["inbound_nodes"]);
  }
  EXPECT_EQ(found["config"]["layers"][4], expected["config"]["layers"][4]);
}

TEST(KerasConfig, TheLayersAreInKerasOrder) {
  // left1 is one level deeper than its position in the file: Keras sorts by depth.
  const Json config = Json::parse(model_config(sample::branched().graph));
  std::vector<std::string> names;
  for (const Json& layer : config["config"]["layers"]) names.push_back(layer["name"]);
  EXPECT_EQ(names,
            (std::vector<std::string>{"image", "left1", "left1_bn", "left_lrn", "right1", "both", "flat", "out"}));
  EXPECT_EQ(config["config"]["layers"][1]["config"]["trainable"], false);
  EXPECT_EQ(config["config"]["layers"][3]["class_name"], "LocalResponseNormalization");
  EXPECT_EQ(config["config"]["layers"][3]["config"]["depth_radius"], 2);
  EXPECT_EQ(config["config"]["layers"][5]["inbound_nodes"],
            Json::parse(R"([[["left_lrn",0,0,{}],["right1",0,0,{}]]])"));
}

TEST(KerasConfig, WritesNamesThatTensorFlowAccepts) {
  const auto named = [](const std::string& name) {
    graph::Graph graph = sample::tiny_cnn().graph;
    graph.name = name;
    return Json::parse(model_config(graph))["config"]["name"].get<std::string>();
  };
  EXPECT_EQ(named("fashion mnist/1"), "fashion_mnist_1");
  EXPECT_EQ(named("_x"), "model_x");
  EXPECT_EQ(named(""), "model");
  EXPECT_EQ(named("a.b-c"), "a.b-c");
}

TEST(KerasConfig, TrainingConfigFitsKeras2And3) {
  EXPECT_EQ(Json::parse(training_config(sample::compiled())), Json::parse(R"({
    "loss": "categorical_crossentropy", "metrics": ["accuracy"], "weighted_metrics": null, "loss_weights": null,
    "optimizer_config": {"class_name": "Adam", "config": {"name": "Adam", "learning_rate": 0.002, "beta_1": 0.9,
      "beta_2": 0.999, "epsilon": 1e-07, "amsgrad": false}}})"));
}

TEST(KerasConfig, TheLearningRateIsAlwaysAFloat) {
  const std::string text = training_config(compiled_with(nn::optimizer_family().make(nn::SGDSpec{}), 1,
                                                         nn::loss_family().make(nn::losses::MeanSquaredError{})));
  EXPECT_NE(text.find("\"learning_rate\":1.0,"), std::string::npos) << text;
}

TEST(KerasConfig, ALossWithParametersIsAnObject) {
  const auto loss = [](config::Typed typed) {
    return Json::parse(
        training_config(compiled_with(nn::optimizer_family().make(nn::SGDSpec{}), 0.1, std::move(typed))))["loss"];
  };
  EXPECT_EQ(loss(nn::loss_family().make(nn::CategoricalCrossentropySpec{.label_smoothing = 0.1})), Json::parse(R"(
    {"class_name": "CategoricalCrossentropy", "config": {"from_logits": false, "label_smoothing": 0.1,
     "reduction": "sum_over_batch_size", "name": "categorical_crossentropy"}})"));
  EXPECT_EQ(loss(nn::loss_family().make(nn::SparseCategoricalCrossentropySpec{.from_logits = true})), Json::parse(R"(
    {"class_name": "SparseCategoricalCrossentropy", "config": {"from_logits": true, "ignore_class": null,
     "reduction": "sum_over_batch_size", "name": "sparse_categorical_crossentropy"}})"));
  EXPECT_EQ(loss(nn::loss_family().make(nn::BinaryCrossentropySpec{})), "binary_crossentropy");
  EXPECT_EQ(loss(nn::loss_family().make(nn::losses::Huber{})), "huber");
  EXPECT_EQ(loss(nn::loss_family().make(nn::losses::Huber{.delta = 0.5})), Json::parse(R"(
    {"class_name": "Huber", "config": {"reduction": "sum_over_batch_size", "name": "huber", "delta": 0.5}})"));
  EXPECT_EQ(loss(nn::loss_family().make(nn::OverAxes<kernels::losses::Dice>{{}, {std::vector<std::int64_t>{1, 2}}})),
            Json::parse(R"(
    {"class_name": "Dice", "config": {"reduction": "sum_over_batch_size", "name": "dice", "axis": [1, 2]}})"));
  EXPECT_EQ(loss(nn::loss_family().make(nn::losses::MeanAbsoluteError{})), "mean_absolute_error");
}

TEST(KerasConfig, EveryLossIsItsStringWithItsDefaults) {
  for (const config::TypeDef* def : nn::loss_family().types()) {
    const auto& type = static_cast<const nn::LossType&>(*def);
    const config::Typed loss(type, type.schema.make());
    EXPECT_EQ(loss_config(loss).str(), type.keras_name);
  }
}

TEST(KerasConfig, OptimizersHaveTheKeysOfKeras2And3) {
  const auto config = [](config::Typed typed) {
    return Json::parse(training_config(compiled_with(
        std::move(typed), 0.25, nn::loss_family().make(nn::losses::MeanSquaredError{}))))["optimizer_config"];
  };
  nn::SGDSpec sgd;
  sgd.momentum = 0.9;
  sgd.nesterov = true;
  sgd.clipnorm = 1.5;
  EXPECT_EQ(config(nn::optimizer_family().make(sgd)), Json::parse(R"({"class_name": "SGD",
    "config": {"name": "SGD", "learning_rate": 0.25, "momentum": 0.9, "nesterov": true, "clipnorm": 1.5}})"));
  EXPECT_EQ(config(nn::optimizer_family().make(nn::RMSpropSpec{})), Json::parse(R"({"class_name": "RMSprop",
    "config": {"name": "RMSprop", "learning_rate": 0.25, "rho": 0.9, "momentum": 0.0, "epsilon": 1e-07, "centered": false}})"));
  EXPECT_EQ(config(nn::optimizer_family().make(nn::AdagradSpec{})), Json::parse(R"({"class_name": "Adagrad",
    "config": {"name": "Adagrad", "learning_rate": 0.25, "initial_accumulator_value": 0.1, "epsilon": 1e-07}})"));
  nn::RMSpropSpec whole;
  whole.rho = 1;
  EXPECT_TRUE(config(nn::optimizer_family().make(whole))["config"]["rho"].is_number_float());  // 1.0, not 1
}

/// Each optimizer declares whether Keras 2 has it; if so, exactly its own arguments are written.
TEST(KerasConfig, WritesOrOmitsEveryOptimizer) {
  for (const config::TypeDef* def : nn::optimizer_family().types()) {
    SCOPED_TRACE(def->name);
    config::Typed optimizer(*def, def->schema.make());
    const std::string text =
        training_config(compiled_with(optimizer, 0.25, nn::loss_family().make(nn::losses::MeanSquaredError{})));
    EXPECT_EQ(text.empty(), !in_keras2(optimizer));
    if (text.empty()) continue;
    Json arguments = Json::parse(text)["optimizer_config"]["config"];
    EXPECT_EQ(arguments.at("name"), def->name);
    for (const char* common : {"name", "learning_rate"}) arguments.erase(common);
    for (const auto& [key, value] : arguments.items()) {
      EXPECT_NE(optimizer_arguments(optimizer).find(key), nullptr) << key;
      EXPECT_TRUE(value.is_number_float() || value.is_boolean()) << key;
    }
    EXPECT_EQ(arguments.size() + 8, def->schema.fields().size())
        << "a key of the optimizer is missing, or a common key is present";
  }
}

TEST(KerasConfig, MetricsKeepTheirNames) {
  CompileConfig c = sample::compiled();
  c.outputs.front().metrics = {nn::metric_family().make(nn::TopKCategoricalAccuracySpec{.name = "top3", .k = 3}),
                               nn::metric_family().make(nn::MeanSquaredErrorMetricSpec{})};
  EXPECT_EQ(Json::parse(training_config(c))["metrics"], Json::parse(R"([
    {"class_name": "TopKCategoricalAccuracy", "config": {"k": 3, "name": "top3", "dtype": "float32"}},
    {"class_name": "MeanSquaredError", "config": {"name": "mean_squared_error", "dtype": "float32"}}])"));
}

TEST(KerasConfig, EveryMetricIsItsStringOrItsClassWithItsName) {
  for (const config::TypeDef* def : nn::metric_family().types()) {
    SCOPED_TRACE(def->name);
    const config::Node config = metric_config(config::Typed(*def, def->schema.make()));
    if (config.is_scalar())
      EXPECT_EQ(nn::metric_family().find(config.str()), def);
    else
      EXPECT_FALSE(config.find("name")->str().empty());
  }
}

/// The arguments of their get_config() in Keras 3.
TEST(KerasConfig, MetricsHaveTheArgumentsOfKeras) {
  const auto config = [](const config::Typed& metric) {
    CompileConfig c = sample::compiled();
    c.outputs.front().metrics = {metric};
    return nlohmann::json::parse(training_config(c))["metrics"][0]["config"];
  };
  const nn::PrecisionSpec plain;
  EXPECT_EQ(config(nn::metric_family().make(plain)), nlohmann::json::parse(R"({"name": "precision",
    "dtype": "float32", "thresholds": null, "top_k": null, "class_id": null})"));
  nn::AUCSpec area;
  EXPECT_EQ(config(nn::metric_family().make(area)), nlohmann::json::parse(R"({"name": "auc", "dtype": "float32",
    "num_thresholds": 200, "curve": "ROC", "summation_method": "interpolation", "multi_label": false,
    "num_labels": null, "label_weights": null, "from_logits": false})"));
  area.thresholds = {0.25};
  EXPECT_EQ(config(nn::metric_family().make(area))["thresholds"], nlohmann::json::parse("[0.25]"));
  EXPECT_EQ(config(nn::metric_family().make(nn::MeanIoUSpec{.num_classes = 3})),
            nlohmann::json::parse(R"({"name": "mean_io_u", "dtype": "float32", "num_classes": 3, "ignore_class": null,
    "sparse_y_true": true, "sparse_y_pred": false, "axis": -1})"));
  EXPECT_EQ(config(nn::metric_family().make(nn::F1ScoreSpec{})), nlohmann::json::parse(R"({"name": "f1_score",
    "dtype": "float32", "average": null, "threshold": null})"));
  EXPECT_EQ(config(nn::metric_family().make(nn::R2ScoreSpec{})), nlohmann::json::parse(R"({"name": "r2_score",
    "dtype": "float32", "class_aggregation": "uniform_average", "num_regressors": 0})"));
}

/// What Keras 2 (TensorFlow 2.15) rejects in a file: load_model fails; without training_config it only warns.
TEST(KerasConfig, OmitsWhatKeras2CannotLoad) {
  const auto text = [](config::Typed optimizer) {
    return training_config(
        compiled_with(std::move(optimizer), 0.1, nn::loss_family().make(nn::losses::MeanSquaredError{})));
  };
  nn::SGDSpec sgd;
  sgd.weight_decay = 0;
  EXPECT_NE(text(nn::optimizer_family().make(sgd)), "");
  sgd.weight_decay = 1e-4;
  EXPECT_EQ(text(nn::optimizer_family().make(sgd)), "");
  nn::AdamSpec adam;
  adam.use_ema = true;
  EXPECT_EQ(text(nn::optimizer_family().make(adam)), "");
  EXPECT_EQ(text(nn::optimizer_family().make(nn::AdamWSpec{})), "");
  EXPECT_EQ(training_config({}), "");
}

}  // namespace
}  // namespace dptrain::formats::keras
