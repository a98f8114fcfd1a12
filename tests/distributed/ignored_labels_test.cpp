// Losses and metrics without the positions of an ignored label, against values in double precision of
// scripts/interop/ignored_labels.py: labels as classes and as rows, replicas with uneven shares, micro-batches, and the
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

constexpr std::int64_t kMaps = 12, kPositions = 5;
constexpr std::int32_t kIgnored = 255;
constexpr double kLabelTolerance = 1e-5;  // five steps in float32

struct IgnoringRun {
  const char* device = "cpu";
  int replicas = 1;
  std::int64_t micro_batches = 1;
};

graph::Model ignoring_model(const json& c) {
  const bool single = c.at("units") == 1;
  graph::Model model = test::model_of(std::string(R"(
layers:
  - Input: {name: x, shape: [5, 3]}
  - Dense: {name: hidden, units: 6, activation: tanh}
)") + (single ? "  - Dense: {name: map, units: 1, activation: sigmoid}\n"
              : "  - Dense: {name: map, units: 3, activation: softmax}\n"));
  for (std::size_t w = 0; w < model.weights.size(); ++w)
    model.weights[w].values = c.at("before")[w].get<std::vector<float>>();
  return model;
}

plan::PlanOptions ignoring_options(const json& c, nn::LabelKind kind) {
  plan::PlanOptions options =
      test::options_for(c.at("loss").get<std::string>(), c.at("metrics").get<std::vector<std::string>>(), kind);
  options.objectives.front().ignore_class = kIgnored;
  options.objectives.front().class_weights = c.at("class_weights").get<std::vector<float>>();
  return options;
}

/// The samples of a case. A row of an ignored label is -1.
struct IgnoringSamples {
  IgnoringSamples(const json& file, const json& c, nn::LabelKind kind)
      : features(file.at("features").get<std::vector<float>>()),
        classes(c.at("labels").get<std::vector<std::int32_t>>()),
        weights(c.at("sample_weights").get<std::vector<float>>()) {
    const auto units = c.at("units").get<std::int32_t>();
    for (const std::int32_t label : classes)
      for (std::int32_t unit = 0; unit < units; ++unit)
        rows.push_back(label == kIgnored ? -1.0F
                       : units == 1      ? static_cast<float>(label)
                       : label == unit   ? 1.0F
                                         : 0.0F);
    view.rows = kMaps;
    view.inputs = {column(features.data(), kPositions * 3)};
    view.labels = {kind == nn::LabelKind::kClass ? column(classes.data(), kPositions)
                                                 : column(rows.data(), kPositions * units)};
    if (!weights.empty()) view.sample_weights = column(weights.data());
  }
  BatchView part(std::int64_t first, std::int64_t count) const {
    BatchView batch = view.sub(first, count);
    batch.first_row = 0;
    return batch;
  }

  std::vector<float> features, rows{};
  std::vector<std::int32_t> classes;
  std::vector<float> weights;
  BatchView view{};
};

void expect_values(const plan::Plan& plan, const runtime::StepSums& sums, const json& logs) {
  const plan::LossStep& loss = plan.losses.front();
  EXPECT_NEAR(sums.loss / static_cast<double>(sums.samples), logs.at("loss").get<double>(), kLabelTolerance);
  for (const nn::ResolvedMetric& metric : loss.metrics) {
    EXPECT_TRUE(metric.masked);
    const auto state = std::span(sums.outputs).subspan(loss.first_sum + metric.offset, metric.state);
    const double weight = plan::weight_of(loss, sums.outputs, sums.samples);
    const std::string& name = metric.names.front();
    EXPECT_NEAR(metric.values(state, weight).front(), logs.at(name).get<double>(), kLabelTolerance) << name;
  }
}

class IgnoredLabels : public ::testing::TestWithParam<IgnoringRun> {
 protected:
  /// Trains and evaluates a case, and compares all logged values and the weights.
  static void run(const json& file, const json& c, nn::LabelKind kind) {
    const auto [name, replicas, micro_batches] = GetParam();
    graph::Model model = ignoring_model(c);
    std::vector<std::unique_ptr<backend::Device>> devices;
    for (int r = 0; r < replicas; ++r) devices.push_back(test::device_of(name, r));
    const plan::Plan plan = plan::make_plan(model, ignoring_options(c, kind), *devices.front());
    const auto connector = std::string(name) == "cpu" ? make_local(replicas) : make_local_streams(replicas);
    runtime::ReplicaSet set(plan, std::move(devices), *connector,
                            {.weights = std::vector<double>(static_cast<std::size_t>(replicas), 1.0),
                             .accumulate_steps = micro_batches,
                             .batch_sizes = {kMaps, 5, 7, 2},
                             .optimizer = test::value_of(nn::optimizer_family(), "SGD: {momentum: 0.5}")});
    set.push(model);
    const IgnoringSamples samples(file, c, kind);
    std::int64_t number = 0;
    for (const json& step : c.at("steps")) {
      SCOPED_TRACE("step " + std::to_string(number));
      const BatchView batch = samples.part(step.at("first").get<std::int64_t>(), step.at("rows").get<std::int64_t>());
      const runtime::StepSums sums = set.step(
          batch, {.number = number++, .learning_rate = c.at("rate").get<double>(), .global_samples = batch.rows});
      expect_values(plan, sums, step.at("logs"));
    }
    set.pull(model);
    for (std::size_t w = 0; w < model.weights.size(); ++w)
      for (std::size_t i = 0; i < model.weights[w].values.size(); ++i)
        EXPECT_NEAR(model.weights[w].values[i], c.at("after")[w][i].get<float>(), kLabelTolerance) << "weight " << w;

    runtime::StepSums all{.outputs = std::vector<double>(plan.sums())};
    for (const std::int64_t first : {std::int64_t{0}, kMaps / 2}) {
      const runtime::StepSums sums = set.evaluate(samples.part(first, kMaps / 2));
      all.loss += sums.loss;
      all.samples += sums.samples;
      for (std::size_t i = 0; i < all.outputs.size(); ++i) all.outputs[i] += sums.outputs[i];
    }
    expect_values(plan, all, c.at("evaluated"));
  }
};

TEST_P(IgnoredLabels, AreLeftOutOfLossesAndMetrics) {
  std::ifstream stream(test::test_data("golden/ignored_labels.json"));
  const json file = json::parse(stream);
  for (const json& c : file.at("cases"))
    for (const std::string kind : c.at("kinds")) {
      SCOPED_TRACE(c.at("name").get<std::string>() + ", " + kind);
      run(file, c, kind == "dense" ? nn::LabelKind::kDense : nn::LabelKind::kClass);
    }
}

INSTANTIATE_TEST_SUITE_P(Devices, IgnoredLabels,
                         ::testing::Values(IgnoringRun{"cpu", 1, 1}, IgnoringRun{"cpu", 3, 1}, IgnoringRun{"cpu", 1, 3},
                                           IgnoringRun{"cpu", 2, 2}, IgnoringRun{"emu:0", 1, 1},
                                           IgnoringRun{"emu:0", 3, 2}));

}  // namespace
}  // namespace dptrain::distributed
