// Losses and metrics of masked steps, and of positions with an ignored class, against Keras 3 (five steps of SGD with
// momentum, then evaluate(); tests/golden/masked_losses.json): one replica, replicas with uneven shares, micro-batches,
// and the emulated GPU. The mean is over the valid positions of the whole batch.

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

struct MaskedRun {
  const char* device = "cpu";
  int replicas = 1;
  std::int64_t micro_batches = 1;
};

class MaskedLosses : public ::testing::TestWithParam<MaskedRun> {};

constexpr std::int64_t kLossRows = 12, kLossSteps = 5;
/// Keras computes losses and steps in float32.
constexpr double kLossTolerance = 1e-5;

bool of_features(const json& c) { return c.at("name") == "values"; }
bool of_two(const json& c) { return c.at("name") == "two outputs"; }
bool has_ignored_class(const json& c) { return c.at("name") == "ignored class"; }

graph::Model masked_loss_model(const json& c) {
  const char* tags = R"(
layers:
  - Input: {name: x, shape: [5], dtype: int32}
  - Embedding: {name: words, input_dim: 9, output_dim: 4, mask_zero: true}
  - Dense: {name: hidden, units: 6, activation: tanh}
  - Dense: {name: tag, units: 3, activation: softmax}
)";
  const char* values = R"(
layers:
  - Input: {name: x, shape: [5, 3]}
  - Masking: {name: valid, mask_value: -1}
  - Dense: {name: hidden, units: 6, activation: tanh}
  - Dense: {name: out, units: 2}
)";
  const char* maps = R"(
layers:
  - Input: {name: x, shape: [5, 3]}
  - Dense: {name: hidden, units: 6, activation: tanh}
  - Dense: {name: tag, units: 3, activation: softmax}
)";
  const char* behind = R"(  - GlobalAveragePooling1D: {name: mean, inputs: hidden}
  - Dense: {name: kind, units: 3, activation: softmax}
outputs: [tag, kind]
)";
  graph::Model model = test::model_of(of_features(c)         ? values
                                      : has_ignored_class(c) ? maps
                                      : of_two(c)            ? std::string(tags) + behind
                                                             : tags);
  for (std::size_t w = 0; w < model.weights.size(); ++w)
    model.weights[w].values = c.at("before")[w].get<std::vector<float>>();
  return model;
}

plan::PlanOptions masked_loss_options(const json& c) {
  if (of_features(c)) {
    plan::PlanOptions options =
        test::options_for("mean_squared_error", {"mean_absolute_error", "root_mean_squared_error"});
    options.objectives.front().labels = nn::LabelKind::kDense;
    return options;
  }
  if (has_ignored_class(c))
    return test::options_for("SparseCategoricalCrossentropy: {ignore_class: 255}",
                             {"accuracy", "MeanIoU: {num_classes: 3}", "Precision: {thresholds: 0.35, class_id: 1}"});
  plan::PlanOptions options = test::options_for("sparse_categorical_crossentropy", {"accuracy"});
  if (!of_two(c)) return options;
  options.objectives.push_back(options.objectives.front());
  options.objectives.back().output = 1;
  options.objectives.back().weight = 0.5;
  return options;
}

/// Compares all values that Keras logs for the step, by name.
void expect_logs(const plan::Plan& plan, const runtime::StepSums& sums, const json& logs) {
  const auto n = static_cast<double>(sums.samples);
  EXPECT_NEAR(sums.loss / n, logs.at("loss").get<double>(), kLossTolerance);
  for (const plan::LossStep& loss : plan.losses) {
    const std::string prefix = loss.name.empty() ? "" : loss.name + "_";
    EXPECT_NEAR(sums.outputs[loss.first_sum] / n, logs.at(prefix + "loss").get<double>(), kLossTolerance);
    for (const nn::ResolvedMetric& metric : loss.metrics) {
      const double weight = metric.masked ? plan::weight_of(loss, sums.outputs, sums.samples) : n;
      const auto state = std::span(sums.outputs).subspan(loss.first_sum + metric.offset, metric.state);
      const std::string& name = metric.names.front();
      EXPECT_NEAR(metric.values(state, weight).front(), logs.at(prefix + name).get<double>(), kLossTolerance) << name;
    }
  }
}

/// The samples of a case, whose columns point into it.
struct MaskedSamples {
  explicit MaskedSamples(const json& file, const json& c)
      : ids(file.at("ids").get<std::vector<std::int32_t>>()),
        tags((has_ignored_class(c) ? c.at("labels") : file.at("tags")).get<std::vector<std::int32_t>>()),
        kinds(file.at("kinds").get<std::vector<std::int32_t>>()),
        features(file.at("features").get<std::vector<float>>()),
        targets(file.at("targets").get<std::vector<float>>()),
        weights(c.value("sample_weights", std::vector<float>())) {
    rows.rows = kLossRows;
    rows.inputs = {of_features(c) || has_ignored_class(c) ? column(features.data(), kLossSteps * 3)
                                                          : column(ids.data(), kLossSteps)};
    rows.labels = {of_features(c) ? column(targets.data(), kLossSteps * 2) : column(tags.data(), kLossSteps)};
    if (of_two(c)) rows.labels.push_back(column(kinds.data()));
    if (!weights.empty()) rows.sample_weights = column(weights.data());
  }

  std::vector<std::int32_t> ids, tags, kinds;
  std::vector<float> features, targets, weights;
  BatchView rows;
};

TEST_P(MaskedLosses, TrainAsInKeras) {
  const auto [name, replicas, micro_batches] = GetParam();
  std::ifstream stream(test::test_data("golden/masked_losses.json"));
  const json file = json::parse(stream);
  for (const json& c : file.at("cases")) {
    SCOPED_TRACE(c.at("name").get<std::string>());
    graph::Model model = masked_loss_model(c);
    std::vector<std::unique_ptr<backend::Device>> devices;
    for (int r = 0; r < replicas; ++r) devices.push_back(device_of(name, r));
    const plan::Plan plan = plan::make_plan(model, masked_loss_options(c), *devices.front());
    const auto connector = std::string(name) == "cpu" ? make_local(replicas) : make_local_streams(replicas);
    runtime::ReplicaSet set(plan, std::move(devices), *connector,
                            {.weights = std::vector<double>(static_cast<std::size_t>(replicas), 1.0),
                             .accumulate_steps = micro_batches,
                             .batch_sizes = {kLossRows, 5, 7, 2},
                             .optimizer = value_of(nn::optimizer_family(), "SGD: {momentum: 0.5}")});
    set.push(model);

    const MaskedSamples samples(file, c);
    std::int64_t number = 0;
    for (const json& step : c.at("steps")) {
      SCOPED_TRACE("step " + std::to_string(number));
      BatchView batch = samples.rows.sub(step.at("first").get<std::int64_t>(), step.at("rows").get<std::int64_t>());
      batch.first_row = 0;
      expect_logs(
          plan,
          set.step(batch,
                   {.number = number++, .learning_rate = c.at("rate").get<double>(), .global_samples = batch.rows}),
          step.at("logs"));
    }
    set.pull(model);
    for (std::size_t w = 0; w < model.weights.size(); ++w)
      for (std::size_t i = 0; i < model.weights[w].values.size(); ++i)
        EXPECT_NEAR(model.weights[w].values[i], c.at("after")[w][i].get<float>(), kLossTolerance) << "weight " << w;
    // Prediction returns a layer's mask after the outputs, with the same valid positions.
    std::vector<float> outputs(kLossRows * kLossSteps * 3), kinds(kLossRows * 3);
    std::vector<std::uint8_t> mask(kLossRows * kLossSteps, 2);
    std::vector<void*> predicted{outputs.data()};
    if (of_two(c)) predicted.push_back(kinds.data());
    if (!has_ignored_class(c)) predicted.push_back(mask.data());
    set.predict(samples.rows, predicted);
    for (std::size_t i = 0; i < mask.size() && !has_ignored_class(c); ++i)
      EXPECT_EQ(mask[i], of_features(c) ? samples.features[3 * i] != -1 : samples.ids[i] != 0) << i;

    // Keras had no weights in evaluate(), and averages an output's loss over batches, which are therefore of equal
    // size.
    if (samples.weights.empty()) {
      runtime::StepSums all{.outputs = std::vector<double>(plan.sums())};
      for (std::int64_t first = 0; first < kLossRows; first += 6) {
        BatchView batch = samples.rows.sub(first, 6);
        batch.first_row = 0;
        const runtime::StepSums sums = set.evaluate(batch);
        all.loss += sums.loss;
        all.samples += sums.samples;
        for (std::size_t i = 0; i < all.outputs.size(); ++i) all.outputs[i] += sums.outputs[i];
      }
      expect_logs(plan, all, c.at("evaluated"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, MaskedLosses,
                         ::testing::Values(MaskedRun{"cpu", 1, 1}, MaskedRun{"cpu", 3, 1}, MaskedRun{"cpu", 1, 3},
                                           MaskedRun{"cpu", 2, 2}, MaskedRun{"emu:0", 1, 1}, MaskedRun{"emu:0", 3, 2}));

/// A batch without valid positions has no loss and changes no weight, as in Keras, which divides by an epsilon.
TEST(MaskedBatches, WithoutValidStepsDoNotTrain) {
  graph::Model model = test::model_of(R"(
layers:
  - Input: {name: x, shape: [5], dtype: int32}
  - Embedding: {name: words, input_dim: 9, output_dim: 4, mask_zero: true}
  - Dense: {name: tag, units: 3, activation: softmax}
)");
  const graph::Model before = model;
  std::vector<std::unique_ptr<backend::Device>> devices;
  devices.push_back(device_of("cpu", 0));
  const plan::Plan plan =
      plan::make_plan(model, test::options_for("sparse_categorical_crossentropy", {"accuracy"}), *devices.front());
  const auto connector = make_local(1);
  runtime::ReplicaSet set(plan, std::move(devices), *connector,
                          {.weights = {1.0}, .batch_sizes = {2}, .optimizer = value_of(nn::optimizer_family(), "SGD")});
  set.push(model);
  const std::vector<std::int32_t> padding(10, 0);
  const BatchView batch{
      .rows = 2, .inputs = {column(padding.data(), kLossSteps)}, .labels = {column(padding.data(), kLossSteps)}};
  const runtime::StepSums sums = set.step(batch, {.number = 0, .learning_rate = 1, .global_samples = 2});
  EXPECT_EQ(sums.loss, 0);
  set.pull(model);
  EXPECT_EQ(test::relative_distance(before, model), 0);
}

}  // namespace
}  // namespace dptrain::distributed
