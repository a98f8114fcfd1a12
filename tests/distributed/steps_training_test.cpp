// Networks over steps and over volumes against Keras 3 (five steps of SGD with momentum; networks and values in
// tests/golden/steps_training.json and volumes_training.json): one replica, replicas with uneven shares, and the
// emulated GPU.

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "distributed/connector.h"
#include "runtime/small_net.h"
#include "support/test_data.h"

namespace dptrain::distributed {
namespace {

using nlohmann::json;

class StepsTraining : public ::testing::TestWithParam<std::pair<const char*, int>> {};

/// Keras computes losses and steps in float32.
constexpr double kStepsTolerance = 1e-5;

graph::Model model_of_case(const json& c) {
  graph::Model model = test::model_of("layers: " + c.at("layers").dump());
  EXPECT_EQ(model.weights.size(), c.at("before").size());
  for (std::size_t w = 0; w < model.weights.size(); ++w)
    model.weights[w].values = c.at("before")[w].get<std::vector<float>>();
  return model;
}

void expect_values(const std::vector<float>& found, const json& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i].get<float>(), kStepsTolerance) << what << " " << i;
}

TEST_P(StepsTraining, MatchesKeras) {
  const auto [name, replicas] = GetParam();
  json cases = json::array();
  for (const char* name_of_file : {"golden/steps_training.json", "golden/volumes_training.json"}) {
    std::ifstream file(test::test_data(name_of_file));
    const json whole = json::parse(file);
    for (const json& c : whole.at("cases")) cases.push_back(c);
  }
  for (const json& c : cases) {
    SCOPED_TRACE(c.at("name").get<std::string>());
    graph::Model model = model_of_case(c);
    std::vector<std::unique_ptr<backend::Device>> devices;
    for (int r = 0; r < replicas; ++r) devices.push_back(test::device_of(name, r));
    const plan::Plan plan =
        plan::make_plan(model, test::options_for("sparse_categorical_crossentropy", {"accuracy"}), *devices.front());
    const auto connector = std::string(name) == "cpu" ? make_local(replicas) : make_local_streams(replicas);
    const auto kinds = c.at("kinds").get<std::vector<std::int32_t>>();
    const auto rows = static_cast<std::int64_t>(kinds.size());
    runtime::ReplicaSet set(plan, std::move(devices), *connector,
                            {.weights = std::vector<double>(static_cast<std::size_t>(replicas), 1.0),
                             .batch_sizes = {rows, 5, 7, 2},
                             .optimizer = test::value_of(nn::optimizer_family(), "SGD: {momentum: 0.5}")});
    set.push(model);

    const bool ids = c.at("inputs")[0].is_number_integer();
    const auto words = ids ? c.at("inputs").get<std::vector<std::int32_t>>() : std::vector<std::int32_t>();
    const auto features = ids ? std::vector<float>() : c.at("inputs").get<std::vector<float>>();
    const std::int64_t width = static_cast<std::int64_t>(c.at("inputs").size()) / rows;
    const BatchView all{.rows = rows,
                        .inputs = {ids ? column(words.data(), width) : column(features.data(), width)},
                        .labels = {column(kinds.data())}};
    std::vector<float> predicted(c.at("predicted").size());
    set.predict(all, predicted.data());
    expect_values(predicted, c.at("predicted"), "prediction");

    std::int64_t number = 0;
    for (const json& step : c.at("steps")) {
      BatchView batch = all.sub(step.at("first").get<std::int64_t>(), step.at("rows").get<std::int64_t>());
      batch.first_row = 0;
      set.step(batch, {.number = number++, .learning_rate = c.at("rate").get<double>(), .global_samples = batch.rows});
    }
    set.pull(model);
    for (std::size_t w = 0; w < model.weights.size(); ++w)
      expect_values(model.weights[w].values, c.at("after")[w], model.weights[w].path(model.graph));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, StepsTraining,
                         ::testing::Values(std::pair{"cpu", 1}, std::pair{"cpu", 3}, std::pair{"emu:0", 1},
                                           std::pair{"emu:0", 3}));

}  // namespace
}  // namespace dptrain::distributed
