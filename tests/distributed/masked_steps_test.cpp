// Networks with masked steps against Keras 3 (five steps of SGD with momentum; tests/golden/masked_steps.json): one
// replica, replicas with uneven shares, and the emulated GPU. Ids are int32.

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

class MaskedSteps : public ::testing::TestWithParam<std::pair<const char*, int>> {};

constexpr std::int64_t kMaskedRows = 12, kMaskedClasses = 3;
/// Keras computes losses and steps in float32.
constexpr double kMaskedTolerance = 1e-5;

graph::Model masked_model(const json& c) {
  const bool ids = c.at("name") == "ids";
  graph::Model model = test::model_of(ids ? R"(
layers:
  - Input: {name: x, shape: [5], dtype: int32}
  - Embedding: {name: words, input_dim: 9, output_dim: 4, mask_zero: true}
  - Dense: {name: hidden, units: 6, activation: tanh}
  - GlobalAveragePooling1D: {name: mean}
  - Dense: {name: kind, units: 3, activation: softmax}
)"
                                          : R"(
layers:
  - Input: {name: x, shape: [5, 3]}
  - Masking: {name: valid, mask_value: -1}
  - Dense: {name: hidden, units: 6, activation: tanh}
  - GlobalAveragePooling1D: {name: mean, keepdims: true}
  - Flatten: {name: flat}
  - Dense: {name: kind, units: 3, activation: softmax}
)");
  for (std::size_t w = 0; w < model.weights.size(); ++w)
    model.weights[w].values = c.at("before")[w].get<std::vector<float>>();
  return model;
}

TEST_P(MaskedSteps, TrainAsInKeras) {
  const auto [name, replicas] = GetParam();
  std::ifstream file(test::test_data("golden/masked_steps.json"));
  const json cases = json::parse(file).at("cases");
  for (const json& c : cases) {
    SCOPED_TRACE(c.at("name").get<std::string>());
    graph::Model model = masked_model(c);
    std::vector<std::unique_ptr<backend::Device>> devices;
    for (int r = 0; r < replicas; ++r) devices.push_back(device_of(name, r));
    const plan::Plan plan =
        plan::make_plan(model, test::options_for("sparse_categorical_crossentropy", {"accuracy"}), *devices.front());
    const auto connector = std::string(name) == "cpu" ? make_local(replicas) : make_local_streams(replicas);
    runtime::ReplicaSet set(plan, std::move(devices), *connector,
                            {.weights = std::vector<double>(static_cast<std::size_t>(replicas), 1.0),
                             .batch_sizes = {kMaskedRows, 5, 7, 2},
                             .optimizer = value_of(nn::optimizer_family(), "SGD: {momentum: 0.5}")});
    set.push(model);

    const bool ids = c.at("name") == "ids";
    const auto words = ids ? c.at("inputs").get<std::vector<std::int32_t>>() : std::vector<std::int32_t>();
    const auto features = ids ? std::vector<float>() : c.at("inputs").get<std::vector<float>>();
    const auto kinds = c.at("kinds").get<std::vector<std::int32_t>>();
    const BatchView all{.rows = kMaskedRows,
                        .inputs = {ids ? column(words.data(), 5) : column(features.data(), 15)},
                        .labels = {column(kinds.data())}};
    std::vector<float> predicted(kMaskedRows * kMaskedClasses);
    set.predict(all, predicted.data());
    for (std::size_t i = 0; i < predicted.size(); ++i)
      EXPECT_NEAR(predicted[i], c.at("predicted")[i].get<float>(), kMaskedTolerance) << i;

    std::int64_t number = 0;
    for (const json& step : c.at("steps")) {
      SCOPED_TRACE("step " + std::to_string(number));
      BatchView batch = all.sub(step.at("first").get<std::int64_t>(), step.at("rows").get<std::int64_t>());
      batch.first_row = 0;
      const runtime::StepSums sums = set.step(
          batch, {.number = number++, .learning_rate = c.at("rate").get<double>(), .global_samples = batch.rows});
      const auto rows = static_cast<double>(batch.rows);
      EXPECT_NEAR(sums.loss / rows, step.at("loss").get<double>(), kMaskedTolerance);
      EXPECT_NEAR(sums.outputs.at(1) / rows, step.at("accuracy").get<double>(), kMaskedTolerance);
    }
    set.pull(model);
    for (std::size_t w = 0; w < model.weights.size(); ++w)
      for (std::size_t i = 0; i < model.weights[w].values.size(); ++i)
        EXPECT_NEAR(model.weights[w].values[i], c.at("after")[w][i].get<float>(), kMaskedTolerance) << "weight " << w;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, MaskedSteps,
                         ::testing::Values(std::pair{"cpu", 1}, std::pair{"cpu", 3}, std::pair{"emu:0", 1},
                                           std::pair{"emu:0", 3}));

}  // namespace
}  // namespace dptrain::distributed
