// Two outputs with a loss each, loss weights and sample weights, against Keras 3 (five steps of SGD with momentum;
// tests/golden/two_outputs.json): one replica, replicas with uneven shares, and the emulated GPU.

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "distributed/connector.h"
#include "runtime/small_net.h"
#include "support/test_data.h"

namespace dptrain::distributed {
namespace {

using nlohmann::json;
using test::device_of;
using test::value_of;

class TwoOutputs : public ::testing::TestWithParam<std::pair<const char*, int>> {};

constexpr std::int64_t kTwoInputs = 4, kBoxWidth = 2, kTwoRows = 12;
/// Keras computes losses and steps in float32.
constexpr double kTwoTolerance = 1e-5;

json two_output_cases() {
  std::ifstream file(test::test_data("golden/two_outputs.json"));
  return json::parse(file).at("cases");
}

graph::Model two_output_model(const json& c) {
  graph::Model model = test::model_of(R"(
layers:
  - Input: {name: x, shape: [4]}
  - Dense: {name: trunk, units: 6, activation: tanh}
  - Dense: {name: kind, units: 3, activation: softmax}
  - Dense: {name: box, inputs: trunk, units: 2}
outputs: [kind, box]
)");
  for (std::size_t w = 0; w < model.weights.size(); ++w)
    model.weights[w].values = c.at("before")[w].get<std::vector<float>>();
  return model;
}

plan::PlanOptions two_output_options(const json& c) {
  plan::PlanOptions options = test::options_for("sparse_categorical_crossentropy", {"accuracy"});
  options.objectives.push_back({.output = 1,
                                .loss = value_of(nn::loss_family(), "mse"),
                                .weight = c.at("box_weight").get<double>(),
                                .metrics = {value_of(nn::metric_family(), "mae")},
                                .labels = nn::LabelKind::kDense});
  return options;
}

/// The means of the sums equal Keras's values.
void expect_means(const runtime::StepSums& sums, const json& expected) {
  const auto n = static_cast<double>(sums.samples);
  const auto near = [&](double sum, const char* name) {
    EXPECT_NEAR(sum / n, expected.at(name).get<double>(), kTwoTolerance) << name;
  };
  near(sums.loss, "loss");
  near(sums.outputs.at(0), "kind_loss");
  near(sums.outputs.at(1), "kind_accuracy");
  near(sums.outputs.at(2), "box_loss");
  near(sums.outputs.at(3), "box_mae");
}

TEST_P(TwoOutputs, TrainAsInKeras) {
  const auto [name, replicas] = GetParam();
  for (const json& c : two_output_cases()) {
    SCOPED_TRACE(c.at("name").get<std::string>());
    graph::Model model = two_output_model(c);
    std::vector<std::unique_ptr<backend::Device>> devices;
    for (int r = 0; r < replicas; ++r) devices.push_back(device_of(name, r));
    const plan::Plan plan = plan::make_plan(model, two_output_options(c), *devices.front());
    const auto connector = std::string(name) == "cpu" ? make_local(replicas) : make_local_streams(replicas);
    runtime::ReplicaSet set(plan, std::move(devices), *connector,
                            {.weights = std::vector<double>(static_cast<std::size_t>(replicas), 1.0),
                             .batch_sizes = {kTwoRows, 5, 2},
                             .optimizer = value_of(nn::optimizer_family(), "SGD: {momentum: 0.5}")});
    set.push(model);

    const auto inputs = c.at("inputs").get<std::vector<float>>(), boxes = c.at("boxes").get<std::vector<float>>();
    const auto kinds = c.at("kinds").get<std::vector<std::int32_t>>();
    const auto weights = c.value("sample_weights", std::vector<float>{});
    const BatchView all{.rows = kTwoRows,
                        .inputs = {column(inputs.data(), kTwoInputs)},
                        .labels = {column(kinds.data()), column(boxes.data(), kBoxWidth)},
                        .sample_weights = weights.empty() ? Column{} : column(weights.data())};
    std::int64_t number = 0;
    for (const json& step : c.at("steps")) {
      SCOPED_TRACE("step " + std::to_string(number));
      BatchView batch = all.sub(step.at("first").get<std::int64_t>(), step.at("rows").get<std::int64_t>());
      batch.first_row = 0;
      expect_means(
          set.step(batch,
                   {.number = number++, .learning_rate = c.at("rate").get<double>(), .global_samples = batch.rows}),
          step);
    }
    expect_means(set.evaluate(all), c.at("evaluated"));
    set.pull(model);
    for (std::size_t w = 0; w < model.weights.size(); ++w)
      for (std::size_t i = 0; i < model.weights[w].values.size(); ++i)
        EXPECT_NEAR(model.weights[w].values[i], c.at("after")[w][i].get<float>(), kTwoTolerance) << "weight " << w;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, TwoOutputs,
                         ::testing::Values(std::pair{"cpu", 1}, std::pair{"cpu", 3}, std::pair{"emu:0", 1},
                                           std::pair{"emu:0", 3}));

}  // namespace
}  // namespace dptrain::distributed
