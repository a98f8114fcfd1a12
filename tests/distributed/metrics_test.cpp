// States of metrics over steps and an evaluation: counts are equal on one and three replicas, with micro-batches and on
// the emulated GPU; sums of squares are equal up to rounding.

#include <gtest/gtest.h>

#include "distributed/connector.h"
#include "runtime/small_net.h"

namespace dptrain::distributed {
namespace {

using test::device_of;
using test::SampleBatch;
using test::value_of;

constexpr const char* kMetricsNet = R"(
layers:
  - Input: {name: x, shape: [6]}
  - Dense: {name: hidden, units: 5, activation: tanh}
  - Dense: {name: out, units: 3, activation: softmax}
)";

plan::Plan metrics_plan(const graph::Model& model, const backend::Device& device) {
  return plan::make_plan(
      model,
      test::options_for("sparse_categorical_crossentropy",
                        {"accuracy", "Precision: {thresholds: [0.3, 0.4]}", "F1Score: {average: macro}",
                         "AUC: {multi_label: true}", "MeanIoU: {num_classes: 3}", "Recall: {top_k: 2}"}),
      device);
}

struct MetricSumsOutcome {
  std::vector<double> trained, evaluated;  ///< all but the loss
  std::vector<double> values;              ///< metrics of the evaluation
};

MetricSumsOutcome measured(const char* name, int replicas, std::int64_t accumulate) {
  graph::Model model = test::model_of(kMetricsNet);
  std::vector<std::unique_ptr<backend::Device>> devices;
  for (int r = 0; r < replicas; ++r) devices.push_back(device_of(name, r));
  const plan::Plan plan = metrics_plan(model, *devices.front());
  const auto connector = std::string(name) == "cpu" ? make_local(replicas) : make_local_streams(replicas);
  runtime::ReplicaSet set(plan, std::move(devices), *connector,
                          {.weights = std::vector<double>(static_cast<std::size_t>(replicas), 1.0),
                           .accumulate_steps = accumulate,
                           .batch_sizes = {13},
                           .optimizer = value_of(nn::optimizer_family(), "SGD: {learning_rate: 0.1}")});
  set.push(model);
  const auto without_loss = [&](const runtime::StepSums& sums) {
    return std::vector<double>(sums.outputs.begin() + 1, sums.outputs.end());
  };
  MetricSumsOutcome outcome;
  const SampleBatch batch(13, 6, 3, 1), other(13, 6, 3, 2);
  outcome.trained = without_loss(set.step(batch.view(), {.number = 0, .learning_rate = 0.1, .global_samples = 13}));
  const runtime::StepSums sums = set.evaluate(other.view());
  outcome.evaluated = without_loss(sums);
  for (const nn::ResolvedMetric& metric : plan.losses.front().metrics)
    for (const double value :
         metric.values(std::span(sums.outputs).subspan(metric.offset, metric.state), static_cast<double>(sums.samples)))
      outcome.values.push_back(value);
  return outcome;
}

TEST(MetricSums, AreExactOnAnyNumberOfReplicas) {
  const MetricSumsOutcome one = measured("cpu", 1, 1);
  EXPECT_EQ(one.trained.size(), 1U + 2 * 3 + 3 * 2 * 2 + 3 * 2 * 201 + 9 + 4);
  EXPECT_EQ(one.values.size(), 1U + 2 + 1 + 1 + 1 + 1);
  for (const double value : one.values) EXPECT_TRUE(value >= 0 && value <= 1) << value;
  for (const char* name : {"cpu", "emu:0"})
    for (const int replicas : {1, 3})
      for (const std::int64_t accumulate : {1, 2}) {
        SCOPED_TRACE(fmt::format("{} x {}, {} micro-batches", name, replicas, accumulate));
        const MetricSumsOutcome many = measured(name, replicas, accumulate);
        EXPECT_EQ(many.trained, one.trained);
        EXPECT_EQ(many.evaluated, one.evaluated);
        EXPECT_EQ(many.values, one.values);
      }
}

}  // namespace
}  // namespace dptrain::distributed
