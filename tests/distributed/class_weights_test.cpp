// class_weight against Keras: a small network trained for three steps by keras.Model.train_on_batch(class_weight=...),
// on every device, alone and as replicas.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "distributed/connector.h"
#include "runtime/small_net.h"
#include "support/test_data.h"

namespace dptrain::distributed {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

constexpr std::int64_t kInputs = 4, kBatch = 5;

json cases() {
  std::ifstream file(test_data("golden/class_weights.json"));
  return json::parse(file).at("cases");
}

graph::Model golden_model(const json& c) {
  const auto outputs = c.at("outputs").get<int>();
  const std::string text =
      "layers:\n  - Input: {shape: [4]}\n  - Dense: {name: hidden, units: 5, activation: tanh}\n  - Dense: {name: out, "
      "units: " +
      std::to_string(outputs) + ", activation: " + (outputs > 1 ? "softmax" : "sigmoid") + "}\n";
  graph::Model model = test::model_of(text);
  for (std::size_t w = 0; w < model.weights.size(); ++w)
    model.weights[w].values = c.at("before")[w].get<std::vector<float>>();
  return model;
}

/// Labels as the data module delivers them.
struct Labels {
  explicit Labels(const json& c) : classes(c.at("classes").get<std::vector<std::int32_t>>()) {
    outputs = c.at("outputs").get<std::size_t>();
    if (c.at("loss") == "sparse_categorical_crossentropy") return;
    kind = nn::LabelKind::kDense;
    for (const std::int32_t label : classes)
      for (std::size_t i = 0; i < outputs; ++i)
        rows.push_back(outputs == 1 ? static_cast<float>(label) : static_cast<std::size_t>(label) == i ? 1.0F : 0.0F);
  }
  Column from(std::int64_t first) const {
    if (kind == nn::LabelKind::kClass) return column(classes.data() + first);
    const auto width = static_cast<std::int64_t>(outputs);
    return column(rows.data() + first * width, width);
  }
  std::vector<std::int32_t> classes;
  std::vector<float> rows;
  std::size_t outputs = 1;
  nn::LabelKind kind = nn::LabelKind::kClass;
};

class ClassWeights : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(ClassWeights, TrainAsInKerasAndDoNotCountInEvaluation) {
  const auto [name, replicas] = GetParam();
  for (const json& c : cases()) {
    SCOPED_TRACE(c.at("name").get<std::string>());
    graph::Model model = golden_model(c);
    const Labels labels(c);
    std::vector<std::unique_ptr<backend::Device>> devices;
    for (int r = 0; r < replicas; ++r) devices.push_back(device_of(name, r));
    plan::PlanOptions options = options_for(c.at("loss").get<std::string>(), {"accuracy"}, labels.kind);
    options.objectives.front().class_weights = c.at("class_weight").get<std::vector<float>>();
    const plan::Plan plan = plan::make_plan(model, options, *devices.front());
    const auto connector = std::string(name) == "cpu" ? make_local(replicas) : make_local_streams(replicas);
    runtime::ReplicaSet set(plan, std::move(devices), *connector,
                            {.weights = std::vector<double>(static_cast<std::size_t>(replicas), 1.0),
                             .batch_sizes = {12, kBatch, 2},
                             .optimizer = value_of(nn::optimizer_family(), "SGD: 0.2")});
    set.push(model);

    const auto inputs = c.at("inputs").get<std::vector<float>>();
    const auto batch = [&](std::int64_t first, std::int64_t rows) {
      return BatchView{
          .rows = rows, .inputs = {column(inputs.data() + first * kInputs, kInputs)}, .labels = {labels.from(first)}};
    };
    for (std::int64_t step = 0; step < 3; ++step) {
      const std::int64_t first = step * kBatch, rows = std::min(kBatch, 12 - first);
      const runtime::StepSums sums =
          set.step(batch(first, rows), {.number = step, .learning_rate = 0.2, .global_samples = rows});
      const auto n = static_cast<double>(rows);
      const auto s = static_cast<std::size_t>(step);
      // Keras computes losses and steps in float32.
      EXPECT_NEAR(sums.loss / n, c.at("losses")[s].get<double>(), 3e-6) << "step " << step;
      EXPECT_NEAR(sums.outputs[1] / n, c.at("accuracy")[s].get<double>(), 1e-6) << "step " << step;
    }
    const runtime::StepSums evaluated = set.evaluate(batch(0, 12));
    EXPECT_NEAR(evaluated.loss / 12, c.at("evaluated").get<double>(), 3e-6) << "evaluation uses no class weights";
    set.pull(model);
    for (std::size_t w = 0; w < model.weights.size(); ++w)
      for (std::size_t i = 0; i < model.weights[w].values.size(); ++i)
        EXPECT_NEAR(model.weights[w].values[i], c.at("after")[w][i].get<float>(), 3e-6) << "weight " << w;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ClassWeights,
                         ::testing::Combine(::testing::Values("cpu", "emu:0"), ::testing::Values(1, 3)),
                         [](const auto& p) {
                           return std::string(std::get<0>(p.param)).substr(0, 3) + std::to_string(std::get<1>(p.param));
                         });

}  // namespace
}  // namespace dptrain::distributed
