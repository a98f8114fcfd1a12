// A label for every pixel: a small network over maps of classes against Keras 3 (five steps of SGD;
// tests/golden/segmentation.json), on one replica, on replicas with uneven shares, and on the emulated GPU. Losses per
// position (sparse, one-hot and focal), per pixel with sample weights, and per channel (Dice).

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "distributed/connector.h"
#include "runtime/small_net.h"
#include "support/test_data.h"

namespace dptrain::distributed {
namespace {

using nlohmann::json;

constexpr std::int64_t kMapRows = 12, kPixels = 4 * 5;
/// Keras computes losses and steps in float32.
constexpr double kMapTolerance = 1e-5;

json segmentation_cases() {
  std::ifstream file(test::test_data("golden/segmentation.json"));
  return json::parse(file).at("cases");
}

graph::Model segmentation_model(const json& c) {
  graph::Model model = test::model_of(R"(
layers:
  - Input: {name: x, shape: [4, 5, 2]}
  - Conv2D: {name: body, filters: 3, kernel_size: 3, padding: same, activation: tanh}
  - Conv2D: {name: map, kernel_size: 1, filters: )" +
                                      std::to_string(c.at("classes").get<int>()) +
                                      ", activation: " + c.at("activation").get<std::string>() + "}\n");
  for (std::size_t w = 0; w < model.weights.size(); ++w)
    model.weights[w].values = c.at("before")[w].get<std::vector<float>>();
  return model;
}

class Segmentation : public ::testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(Segmentation, TrainsAsInKeras) {
  const auto [name, replicas] = GetParam();
  for (const json& c : segmentation_cases()) {
    SCOPED_TRACE(c.at("name").get<std::string>());
    graph::Model model = segmentation_model(c);
    std::vector<std::unique_ptr<backend::Device>> devices;
    for (int r = 0; r < replicas; ++r) devices.push_back(test::device_of(name, r));
    const bool classes = c.at("labels") == "classes";
    const plan::Plan plan = plan::make_plan(model,
                                            test::options_for(c.at("loss").get<std::string>(), {"accuracy"},
                                                              classes ? nn::LabelKind::kClass : nn::LabelKind::kDense),
                                            *devices.front());
    const auto connector = std::string(name) == "cpu" ? make_local(replicas) : make_local_streams(replicas);
    runtime::ReplicaSet set(plan, std::move(devices), *connector,
                            {.weights = std::vector<double>(static_cast<std::size_t>(replicas), 1.0),
                             .batch_sizes = {kMapRows, 5, 2},
                             .optimizer = test::value_of(nn::optimizer_family(), "SGD: 0.2")});
    set.push(model);

    const auto inputs = c.at("inputs").get<std::vector<float>>();
    const auto numbers = c.at("targets").get<std::vector<std::int32_t>>();
    const std::vector<float> values(numbers.begin(), numbers.end());
    const auto weights = c.value("sample_weights", std::vector<float>{});
    const BatchView all{.rows = kMapRows,
                        .inputs = {column(inputs.data(), kPixels * 2)},
                        .labels = {classes ? column(numbers.data(), kPixels)
                                           : column(values.data(), kPixels * c.at("classes").get<std::int64_t>())},
                        .sample_weights = weights.empty() ? Column{} : column(weights.data())};
    const auto expect_means = [](const runtime::StepSums& sums, const json& expected) {
      const auto n = static_cast<double>(sums.samples);
      EXPECT_NEAR(sums.loss / n, expected.at("loss").get<double>(), kMapTolerance);
      EXPECT_NEAR(sums.outputs.at(1) / n, expected.at("accuracy").get<double>(), 1e-6);
    };
    std::int64_t number = 0;
    for (const json& step : c.at("steps")) {
      SCOPED_TRACE("step " + std::to_string(number));
      BatchView batch = all.sub(step.at("first").get<std::int64_t>(), step.at("rows").get<std::int64_t>());
      batch.first_row = 0;
      expect_means(set.step(batch, {.number = number++, .learning_rate = 0.2, .global_samples = batch.rows}), step);
    }
    expect_means(set.evaluate(all), c.at("evaluated"));
    set.pull(model);
    for (std::size_t w = 0; w < model.weights.size(); ++w)
      for (std::size_t i = 0; i < model.weights[w].values.size(); ++i)
        EXPECT_NEAR(model.weights[w].values[i], c.at("after")[w][i].get<float>(), kMapTolerance) << "weight " << w;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Segmentation,
                         ::testing::Values(std::pair{"cpu", 1}, std::pair{"cpu", 3}, std::pair{"emu:0", 1},
                                           std::pair{"emu:0", 3}));

}  // namespace
}  // namespace dptrain::distributed
