// Networks of sequences, with recurrent layers or attention, against Keras 3 (five steps of SGD with momentum, or of
// Adam; files in tests/golden). One replica, replicas with uneven shares, and the emulated GPU. The files contain last
// steps, all steps, reversed and masked steps, initial and final states, and a layer shared by two inputs. Queries,
// values and keys are from one tensor and from several.

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "distributed/connector.h"
#include "runtime/small_net.h"
#include "support/sanitizer.h"
#include "support/test_data.h"

namespace dptrain::distributed {
namespace {

using nlohmann::json;

constexpr std::int64_t kSequenceRows = 12, kSequenceKinds = 3;
/// Keras computes losses and steps in float32.
constexpr double kSequenceTolerance = 1e-5;

struct SequenceRun {
  const char* file;
  const char* device;
  int replicas;
};

class RecurrentNetworks : public ::testing::TestWithParam<SequenceRun> {};

graph::Model sequence_model(const json& c) {
  graph::Model model = test::model_of(c.at("model").get<std::string>());
  for (graph::Weight& weight : model.weights)
    weight.values = c.at("before").at(weight.path(model.graph)).get<std::vector<float>>();
  EXPECT_EQ(model.weights.size(), c.at("before").size());
  return model;
}

void train_as_keras(const json& c, const SequenceRun& run) {
  graph::Model model = sequence_model(c);
  std::vector<std::unique_ptr<backend::Device>> devices;
  for (int r = 0; r < run.replicas; ++r) devices.push_back(test::device_of(run.device, r));
  const plan::Plan plan =
      plan::make_plan(model, test::options_for("sparse_categorical_crossentropy", {}), *devices.front());
  const auto connector = std::string(run.device) == "cpu" ? make_local(run.replicas) : make_local_streams(run.replicas);
  runtime::ReplicaSet set(
      plan, std::move(devices), *connector,
      {.weights = std::vector<double>(static_cast<std::size_t>(run.replicas), 1.0),
       .batch_sizes = {kSequenceRows, 5, 7, 2},
       .optimizer = test::value_of(nn::optimizer_family(), c.value("optimizer", "SGD: {momentum: 0.5}"))});
  set.push(model);

  std::vector<std::vector<float>> inputs;
  for (const json& input : c.at("inputs")) inputs.push_back(input.get<std::vector<float>>());
  const auto kinds = c.at("kinds").get<std::vector<std::int32_t>>();
  BatchView all{.rows = kSequenceRows, .inputs = {}, .labels = {column(kinds.data())}};
  for (const auto& input : inputs)
    all.inputs.push_back(column(input.data(), static_cast<std::int64_t>(input.size()) / kSequenceRows));
  std::vector<float> predicted(kSequenceRows * kSequenceKinds);
  set.predict(all, predicted.data());
  for (std::size_t i = 0; i < predicted.size(); ++i)
    EXPECT_NEAR(predicted[i], c.at("predicted")[i].get<float>(), kSequenceTolerance) << i;

  std::int64_t number = 0;
  for (const json& step : c.at("steps")) {
    BatchView batch = all.sub(step.at("first").get<std::int64_t>(), step.at("rows").get<std::int64_t>());
    batch.first_row = 0;
    const runtime::StepSums sums = set.step(
        batch, {.number = number++, .learning_rate = c.at("rate").get<double>(), .global_samples = batch.rows});
    if (step.contains("loss")) {  // the sums do not contain the regularizers' part
      EXPECT_NEAR(sums.loss / static_cast<double>(batch.rows), step.at("loss").get<double>(), kSequenceTolerance);
    }
  }
  set.pull(model);
  for (const graph::Weight& weight : model.weights) {
    const json& expected = c.at("after").at(weight.path(model.graph));
    ASSERT_EQ(weight.values.size(), expected.size());
    for (std::size_t i = 0; i < weight.values.size(); ++i)
      EXPECT_NEAR(weight.values[i], expected[i].get<float>(), kSequenceTolerance)
          << weight.path(model.graph) << " " << i;
  }
}

TEST_P(RecurrentNetworks, TrainAsInKeras) {
  std::ifstream file(test::test_data(std::string("golden/") + GetParam().file));
  const json cases = json::parse(file).at("cases");
  EXPECT_GE(cases.size(), 5U);
  for (const json& c : cases) {
    SCOPED_TRACE(c.at("name").get<std::string>());
    train_as_keras(c, GetParam());
  }
}

std::vector<SequenceRun> sequence_runs() {
  std::vector<SequenceRun> all;
  for (const char* file : {"lstm.json", "gru.json", "simple_rnn.json", "bidirectional.json", "time_distributed.json",
                           "conv_lstm2d.json", "multi_head_attention.json", "attention.json", "adam_sequences.json"})
    for (const char* device : {"cpu", "emu:0"})
      for (const int replicas : {1, 3}) {
        const bool emulated = std::string_view(device) != "cpu";
        if (test::kThreadSanitizer && emulated && replicas == 1) continue;  // several include its threads
        all.push_back({file, device, test::kThreadSanitizer && emulated ? 2 : replicas});
      }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Devices, RecurrentNetworks, ::testing::ValuesIn(sequence_runs()));

}  // namespace
}  // namespace dptrain::distributed
