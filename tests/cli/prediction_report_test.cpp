// Tables and files of bench --predict.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/prediction_report.h"
#include "cli/prediction_flags.h"
#include "core/error.h"

namespace dptrain::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const char* const kPredicted =
    "dptrain: 1\n"
    "name: tiny\n"
    "model:\n"
    "  layers:\n"
    "    - Input: {shape: [100]}\n"
    "    - Dense: {units: 1000, activation: relu}\n"
    "    - Dense: {units: 1000, activation: softmax}\n"
    "data: {train: {Synthetic: {samples: 40}}}\n"
    "train: {epochs: 1, batch_size: 12, loss: categorical_crossentropy, optimizer: SGD}\n";

PredictionReport report(const std::string& text, bool weak, std::vector<BenchRow> measured = {},
                        const char* config = kPredicted) {
  const experiment::Experiment experiment = experiment::load_experiment_text(config, "tiny.yaml", {});
  BenchOptions options;
  options.devices = {.replicas = 1, .threads = 1};
  return predict_steps(experiment, {cli::parse_prediction(text), "tiny.yaml", weak, options, std::move(measured)});
}

const std::string kGpus = "gpus=4,nodes=3,link=1Gbit,latency=3us,step=100ms";

TEST(PredictSteps, CountUpToTheLastNode) {
  const PredictionReport weak = report(kGpus, true);
  std::vector<int> ranks;
  for (const PredictedRow& row : weak.rows) ranks.push_back(row.cluster.ranks);
  EXPECT_EQ(ranks, (std::vector{1, 2, 4, 8, 12}));
  EXPECT_DOUBLE_EQ(weak.rows[0].predicted.step, 0.1);
  EXPECT_EQ(weak.rows[4].rows, 12);
  EXPECT_EQ(weak.rows[4].global_batch, 144);
  EXPECT_DOUBLE_EQ(weak.rows[4].predicted.compute, 0.1);
  // 4.4 MB at 125 MB/s, 2 * 11/12 of it: about 65 ms. Backward hides the transfers except those of the last layer.
  EXPECT_NEAR(weak.rows[4].predicted.communication, 0.065, 0.001);
  EXPECT_LT(weak.rows[4].predicted.exposed, 0.065);
}

TEST(PredictSteps, SplitOneBatch) {
  const PredictionReport strong = report(kGpus, false);
  EXPECT_EQ(strong.rows[4].rows, 1);
  EXPECT_EQ(strong.rows[4].global_batch, 12);
  EXPECT_NEAR(strong.rows[4].predicted.compute, 0.1 / 12, 1e-12);
  try {
    report("gpus=16,step=1s", false);
    FAIL() << "more replicas than samples";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("16 replicas for a batch of 12; give batch=N, of each replica, or --mode weak"));
  }
  EXPECT_EQ(report("gpus=16,step=1s,batch=3", false).rows.back().global_batch, 48);
}

TEST(PredictSteps, OfGpusHaveTheBucketsOfGpus) {
  const char* const deep =
      "dptrain: 1\n"
      "name: deep\n"
      "model: {layers: [{Input: [100]}, {Dense: 300}, {Dense: 300}, {Dense: 300}, {Dense: {units: 300, activation: "
      "softmax}}]}\n"
      "data: {train: {Synthetic: {samples: 40}}}\n"
      "train: {epochs: 1, batch_size: 12, loss: categorical_crossentropy, optimizer: SGD}\n";
  EXPECT_EQ(report("gpus=2,step=1ms", false, {}, deep).parts.buckets.size(), 2U) << "1 MiB, then up to 25 MiB";
  const std::string cpus = "processes=2,cores=2,step=1ms,inner=1GB/s,inner_latency=10us";
  EXPECT_GT(report(cpus, false, {}, deep).parts.buckets.size(), 2U) << "an eighth of all";
}

TEST(PredictSteps, RequireAStepTimeWithoutAGpu) {
  try {
    report("gpus=2", true);
    FAIL() << "there is no GPU";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_THAT(error.what(), HasSubstr("give step=..., measured with 'dptrain bench CONFIG --gpus 0'"));
  }
}

TEST(PredictSteps, AreListedWithMeasuredOnes) {
  BenchRow row;
  row.processes = row.replicas = 3;
  row.global_batch = 12;
  row.step_ms = 50;
  const PredictionReport both = report("processes=4,cores=2,step=100ms,inner=1GB/s,inner_latency=10us", false, {row});
  ASSERT_EQ(both.rows.size(), 4U) << "1, 2, 4 and what was measured";
  EXPECT_FALSE(both.rows[0].ratio());
  EXPECT_EQ(both.rows[2].cluster.ranks, 3);
  EXPECT_NEAR(*both.rows[2].ratio(), both.rows[2].predicted.step / 0.05, 1e-12);
  EXPECT_NEAR(both.rows[2].predicted.compute, 1.5 * 0.1 / 3 + 0.2e-3, 1e-12) << "three threads on two cores";
  EXPECT_NEAR(both.rows[0].predicted.step, 0.1, 1e-12) << "a single replica does not wait";

  EXPECT_THAT(prediction_table(both), HasSubstr("predicted/"));
  const auto json = nlohmann::json::parse(prediction_json(both));
  EXPECT_TRUE(json.at("prediction").get<bool>());
  EXPECT_EQ(json.at("rows")[2].at("processes"), 3);
  EXPECT_DOUBLE_EQ(json.at("rows")[2].at("measured_step_ms").get<double>(), 50);
  EXPECT_FALSE(json.at("rows")[0].contains("measured_step_ms"));
}

TEST(PredictionTable, ReportsThatNothingWasMeasured) {
  const PredictionReport weak = report(kGpus, true);
  const std::string table = prediction_table(weak);
  EXPECT_TRUE(table.starts_with("predicted, not measured: tiny.yaml\n"));
  EXPECT_THAT(table, HasSubstr("a step of one replica with 12 samples takes 100 ms, as given"));
  EXPECT_THAT(table, HasSubstr("within a node messages reach 150 GB/s, latency 2 us, values not given with inner= and "
                               "inner_latency= are assumed"));
  EXPECT_THAT(table, HasSubstr("each node has one link of 0.125 GB/s to the others, latency 3 us, as given"));
  EXPECT_THAT(table, HasSubstr("the batch grows with the replicas"));
  EXPECT_THAT(table, Not(HasSubstr("predicted/")));
  const std::string csv = prediction_csv(weak);
  EXPECT_THAT(csv, HasSubstr("gpus,nodes,replicas,global_batch,predicted_step_ms"));
  EXPECT_THAT(csv, HasSubstr("\n1,1,1,12,100,100,0,0,120,1,1,-,,\n"));
  EXPECT_EQ(nlohmann::json::parse(prediction_json(weak)).at("rows").size(), 5U);
}

}  // namespace
}  // namespace dptrain::bench
