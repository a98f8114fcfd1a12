// The layouts in which Keras versions store weights.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/keras/keras_import.h"
#include "formats/keras_sample.h"
#include "support/test_data.h"

namespace dptrain::formats {
namespace {

using dptrain::test::test_data;
using sample::FileLayer;
using sample::legacy_file;
using sample::model_of;
using sample::values_of;
using sample::weight;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

FileContents golden_file(const std::string& name) { return FileContents::open(test_data("golden/" + name)); }

/// The layers with weights by their full names, in order.
std::vector<std::string> weighted(const FileContents& contents) {
  std::vector<std::string> names;
  for (const StoredLayer& layer : contents.layers())
    if (!layer.weights.empty()) names.push_back(layer.full_name());
  return names;
}

std::map<std::string, std::vector<std::vector<float>>> values(const FileContents& contents) {
  std::map<std::string, std::vector<std::vector<float>>> all;
  for (const StoredLayer& layer : contents.layers())
    for (const StoredArray& weight : layer.weights) all[layer.full_name()].push_back(weight.floats());
  return all;
}

TEST(KerasLayouts, Keras1) {
  // "std" is the variance; names have no slash.
  const FileLayer conv{"conv1", {{"conv1_W:0", {3, 3, 3, 4}}, {"conv1_b:0", {4}}}};
  const FileLayer bn{"bn_conv1",
                     {{"bn_conv1_gamma:0", {4}},
                      {"bn_conv1_beta:0", {4}},
                      {"bn_conv1_running_mean:0", {4}},
                      {"bn_conv1_running_std:0", {4}}}};
  const FileContents file = legacy_file({{"input_1", {}}, conv, bn}, {.keras_version = ""});
  EXPECT_EQ(file.stored().layout, "Keras 1 .h5");
  graph::Model model = model_of(R"(
layers:
  - Input: [8, 8, 3]
  - Conv2D: {name: conv1, filters: 4, kernel_size: 3}
  - BatchNormalization: {name: bn_conv1}
)");
  EXPECT_EQ(load_weights(file, {}, model, Coverage::kAll).how, "by name");
  EXPECT_EQ(weight(model, "conv1/kernel"), values_of(0, {3, 3, 3, 4}));
  EXPECT_EQ(weight(model, "bn_conv1/moving_variance"), values_of(5, {4}));
}

TEST(KerasLayouts, RejectsRecurrentLayersOfKeras1) {
  FileLayer lstm{"out", {}};
  for (int i = 0; i < 12; ++i) lstm.weights.emplace_back("w" + std::to_string(i), Shape{2, 2});
  graph::Model model = model_of("layers: [{Input: [2]}, {Dense: {name: out, units: 2}}]");
  EXPECT_THAT(sample::refusal_of(legacy_file({lstm}, {.keras_version = ""}), {}, model),
              HasSubstr("layer 'out' has 12 weights in the file, 2 in the model"));
}

TEST(KerasLayouts, AllFormsOfKeras3HaveTheSameWeights) {
  for (const std::string net : {"keras3_A", "keras3_D"}) {
    const auto legacy = values(golden_file(net + ".h5"));
    EXPECT_FALSE(legacy.empty());
    EXPECT_EQ(values(golden_file(net + ".weights.h5")), legacy) << net;
    EXPECT_EQ(values(golden_file(net + ".keras")), legacy) << net;
  }
  EXPECT_THAT(weighted(golden_file("keras3_D.h5")),
              ElementsAre("backbone/c1", "backbone/bn1", "backbone/sep", "backbone/dw", "head"));
  EXPECT_EQ(weighted(golden_file("keras3_D.keras")), weighted(golden_file("keras3_D.h5")));
  EXPECT_TRUE(golden_file("keras3_D.keras").stored().ordered);
  EXPECT_FALSE(golden_file("keras3_D.weights.h5").stored().ordered);
}

TEST(KerasLayouts, SequentialOfKeras3) {
  const char* const kNet =
      "layers: [{Input: [5]}, {Dense: {name: dense_1, units: 4}}, {Dense: {name: dense_2, units: 2}}]";
  graph::Model expected = model_of(kNet);
  load_weights(golden_file("keras3_C.h5"), {}, expected, Coverage::kAll);
  EXPECT_EQ(weight(expected, "dense_2/kernel")[0], -0.039572592824697495F);
  for (const char* name : {"keras3_C.weights.h5", "keras3_C.keras", "keras3_C_deflated.keras"})
    for (const graph::WeightsMatch match : {graph::WeightsMatch::kName, graph::WeightsMatch::kTopology}) {
      graph::Model model = model_of(kNet);
      graph::WeightsSpec spec;
      spec.match = match;
      load_weights(golden_file(name), spec, model, Coverage::kAll);
      for (std::size_t i = 0; i < model.weights.size(); ++i)
        EXPECT_EQ(model.weights[i].values, expected.weights[i].values) << name << i;
    }
}

/// Keras 2.15 stores no names in .weights.h5; includes a nested model and a layer shared by two branches.
TEST(KerasLayouts, AllFormsOfKeras2GiveTheSameWeights) {
  const config::Node section = import_model(test_data("golden/keras2_siamese.h5")).model;
  const graph::Graph graph = graph::graph_of(config::to_yaml(section));
  std::vector<graph::Model> filled;
  for (const char* form : {".h5", ".keras", ".weights.h5", "_weights_only.h5"}) {
    graph::Model model = graph::make_model(graph, 1);
    const WeightsReport report =
        load_weights(golden_file(std::string("keras2_siamese") + form), {}, model, Coverage::kAll);
    EXPECT_EQ(report.count(WeightsReport::LoadStatus::kLoaded), 5U) << form;
    filled.push_back(std::move(model));
  }
  const auto sum = [&](const char* path) {
    double total = 0;
    for (const float value : weight(filled[0], path)) total += static_cast<double>(value);
    return total;
  };
  EXPECT_NEAR(sum("backbone_c1/kernel"), -2.835176944732666, 1e-5);  // as summed by numpy in float32
  EXPECT_NEAR(sum("backbone_bn1/moving_variance"), 4.0701823234558105, 1e-5);
  EXPECT_NEAR(sum("head/bias"), -0.35705840587615967, 1e-6);
  for (const graph::Model& other : filled)
    for (std::size_t i = 0; i < other.weights.size(); ++i)
      EXPECT_EQ(other.weights[i].values, filled[0].weights[i].values);
  graph::Model model = graph::make_model(graph, 1);
  graph::WeightsSpec by_name;
  by_name.match = graph::WeightsMatch::kName;
  EXPECT_THAT(sample::refusal_of(golden_file("keras2_siamese.weights.h5"), by_name, model),
              HasSubstr("it does not contain the names of its layers"));
}

/// Within a nested model, trainable weights precede statistics and the weights of frozen layers.
TEST(KerasLayouts, ReadsNestedModelsInTheOrderOfTheirConfig) {
  const FileLayer inner{
      "base", {{"c2/kernel:0", {1, 1, 3, 3}}, {"c2/bias:0", {3}}, {"c1/kernel:0", {1, 1, 3, 3}}, {"c1/bias:0", {3}}}};
  const std::string config = R"({"class_name": "Functional", "config": {"layers": [
    {"class_name": "Functional", "name": "base", "config": {"layers": [
      {"class_name": "Conv2D", "name": "c1", "config": {"trainable": false}},
      {"class_name": "Conv2D", "name": "c2", "config": {}}]}}]}})";
  EXPECT_THAT(weighted(legacy_file({inner}, {.model_config = config})), ElementsAre("base/c1", "base/c2"));
  EXPECT_THAT(weighted(legacy_file({inner})), ElementsAre("base/c2", "base/c1"));  // in the order of the file

  FileLayer prefixed{"seq", {}};
  for (const auto& [path, shape] : inner.weights) prefixed.weights.emplace_back("seq/" + path, shape);
  EXPECT_THAT(weighted(legacy_file({prefixed})), ElementsAre("seq/c2", "seq/c1"));
  const FileLayer wrapper{"bi", {{"bi/forward_lstm/k:0", {2, 2}}, {"bi/backward_lstm/k:0", {2, 2}}}};
  EXPECT_THAT(weighted(legacy_file({wrapper})), ElementsAre("bi"));

  graph::Model model = model_of(R"(
layers:
  - Input: [4, 4, 3]
  - Conv2D: {name: c1, filters: 3, kernel_size: 1}
  - Conv2D: {name: base_c2, filters: 3, kernel_size: 1}
)");
  load_weights(legacy_file({inner}), {}, model, Coverage::kAll);  // with or without the name of the outer model
  EXPECT_EQ(weight(model, "c1/kernel"), values_of(2, {1, 1, 3, 3}));
  EXPECT_EQ(weight(model, "base_c2/kernel"), values_of(0, {1, 1, 3, 3}));
}

TEST(KerasLayouts, UnwrapsAMultiGpuFile) {
  const std::string config = R"({"class_name": "Model", "config": {"name": "model_2", "layers": [
    {"class_name": "InputLayer", "name": "input_1", "config": {}},
    {"class_name": "Lambda", "name": "lambda_1", "config": {}},
    {"class_name": "Lambda", "name": "lambda_2", "config": {}},
    {"class_name": "Model", "name": "model_1", "config": {"layers": [
      {"class_name": "InputLayer", "name": "input_1", "config": {}},
      {"class_name": "Dense", "name": "fc", "config": {}}]}},
    {"class_name": "Concatenate", "name": "fc", "config": {}}]}})";
  const FileLayer inner{"model_1", {{"fc/kernel:0", {3, 2}}, {"fc/bias:0", {2}}}};
  const FileContents file =
      legacy_file({{"input_1", {}}, {"lambda_1", {}}, inner, {"fc", {}}}, {.model_config = config});
  graph::Model model = model_of("layers: [{Input: [3]}, {Dense: {name: fc, units: 2}}]");
  const WeightsReport report = load_weights(file, {}, model, Coverage::kAll);
  EXPECT_EQ(weight(model, "fc/kernel"), values_of(0, {3, 2}));
  EXPECT_THAT(report.notes, ElementsAre("made by multi_gpu_model: the weights are those of its inner model 'model_1'"));
}

std::vector<std::byte> golden_bytes(const std::string& name) { return sample::bytes_of(test_data("golden/" + name)); }

/// Every error of an archive is an Error{kCheckpoint}.
std::string archive_refusal(std::vector<std::byte> bytes) {
  try {
    const FileContents contents = FileContents::from_bytes(checkpoint_bytes("a.keras", std::move(bytes)));
    for (const StoredLayer& layer : contents.layers())
      for (const StoredArray& weight : layer.weights) weight.floats();
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kCheckpoint ? error.what() : "another kind of error";
  }
  return "";
}

TEST(KerasLayouts, DamagedArchives) {
  for (const char* name : {"keras3_C.keras", "keras3_C_deflated.keras"}) {
    const std::vector<std::byte> good = golden_bytes(name);
    EXPECT_EQ(archive_refusal(good), "");
    for (std::size_t length = 0; length < good.size(); length += 97)
      EXPECT_NE(archive_refusal({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length)}), "") << length;
    // Some bytes are unused: times, attributes, metadata.json, the local copy of names and sizes.
    std::size_t noticed = 0, tried = 0;
    for (std::size_t at = 0; at < good.size(); at += 61, ++tried) {
      std::vector<std::byte> bad = good;
      bad[at] ^= std::byte{0x55};
      noticed += archive_refusal(std::move(bad)).empty() ? 0 : 1;
    }
    EXPECT_GT(noticed, tried * 8 / 10) << name;
  }
  std::vector<std::byte> flipped = golden_bytes("keras3_C.keras");
  flipped[flipped.size() / 2] ^= std::byte{1};
  EXPECT_THAT(archive_refusal(flipped), HasSubstr("model.weights.h5 does not match"));
}

TEST(KerasLayouts, RejectsOtherArchives) {
  std::vector<std::byte> other = golden_bytes("keras3_C.keras");
  const std::string from = "config.json", to = "konfig.json";
  for (auto at = other.begin();;) {
    const auto bytes = std::as_bytes(std::span(from));
    at = std::search(at, other.end(), bytes.begin(), bytes.end());
    if (at == other.end()) break;
    std::copy_n(std::as_bytes(std::span(to)).begin(), to.size(), at);
  }
  EXPECT_EQ(archive_refusal(other), "'a.keras' is a zip archive without config.json, which a .keras file contains");
}

}  // namespace
}  // namespace dptrain::formats
