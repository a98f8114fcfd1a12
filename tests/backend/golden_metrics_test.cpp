// Compares metrics with Keras 3 over several batches, also after a softmax or sigmoid fused into the loss. The test
// names every metric of the family without a case.

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "backend/golden.h"
#include "backend/harness.h"
#include "backend/loss_harness.h"

namespace dptrain::test {
namespace {

using nlohmann::json;
using Fusion = plan::LossStep::Fusion;

/// A prediction before its activation.
double logit_of(Fusion fusion, double p) {
  if (fusion == Fusion::kSoftmax) return std::log(p);
  return fusion == Fusion::kSigmoid ? std::log(p) - std::log1p(-p) : p;
}

/// The metric's values of all batches, from the sum of their states.
std::vector<double> values_of_batches(backend::Device& device, LossCase c, const json& data, bool classes) {
  std::vector<double> state;
  std::int64_t samples = 0;
  nn::ResolvedMetric metric;
  for (std::size_t b = 0; b < data.at("y_pred").size(); ++b) {
    c.classes.clear();
    c.rows.clear();
    for (const double label : flat(data.at("y_true")[b])) {
      if (classes)
        c.classes.push_back(static_cast<std::int32_t>(label));
      else
        c.rows.push_back(label);
    }
    std::vector<double> prediction = flat(data.at("y_pred")[b]);
    for (double& p : prediction) p = logit_of(c.fusion, p);
    const LossResult found = run_loss(device, c, prediction, 1);
    const std::vector<double> added = found.state(0);
    state.resize(added.size(), 0.0);
    for (std::size_t i = 0; i < added.size(); ++i) state[i] += added[i];
    samples += static_cast<std::int64_t>(data.at("y_pred")[b].size());
    metric = found.metrics.front();
  }
  return metric.values(state, static_cast<double>(samples));
}

/// The losses whose outputs may be the data's predictions.
std::vector<LossCase> ways_to_predict(const std::string& data) {
  const auto loss = [](const char* name) { return from_keras(nn::loss_family(), name, json::object()); };
  std::vector<LossCase> ways{{.loss = loss("MeanSquaredError"), .output = {}}};
  if (data == "binary" || data == "labels")
    ways.push_back({.loss = loss("BinaryCrossentropy"), .output = {}, .from_logits = true, .fusion = Fusion::kSigmoid});
  if (data == "classes" || data == "one_hot")
    ways.push_back(
        {.loss = loss("CategoricalCrossentropy"), .output = {}, .from_logits = true, .fusion = Fusion::kSoftmax});
  return ways;
}

void check_entry(const json& entry, const json& all) {
  const auto name = entry.at("metric").get<std::string>(), data_name = entry.at("data").get<std::string>();
  const json& data = all.at("data").at(data_name);
  const std::vector<double> expected = flat(json::array({entry.at("value")}));
  for (LossCase& c : ways_to_predict(data_name)) {
    c.output = {static_cast<std::int64_t>(data.at("y_pred")[0][0].size())};
    c.metrics = {from_keras(nn::metric_family(), name, entry.at("config"))};
    for (const auto& device : devices()) {
      SCOPED_TRACE(name + entry.at("config").dump() + " of " + data_name + " after " + c.loss.name() + ": " +
                   device->description());
      const std::vector<double> found = values_of_batches(*device, c, data, data_name == "classes");
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 2e-6) << i;  // Keras's are floats
    }
  }
}

TEST(GoldenMetrics, OverSeveralBatches) {
  const json all = golden("metric_batches.json");
  std::set<std::string> checked;
  for (const json& entry : all.at("cases")) {
    check_entry(entry, all);
    checked.insert(entry.at("metric").get<std::string>());
  }
  for (const std::string& name : nn::metric_family().names())
    EXPECT_TRUE(checked.contains(name)) << "metric " << name << " has no case in tests/golden/metric_batches.json";
}

TEST(GoldenMetrics, OverOneBatch) {
  for (const json& entry : golden("metrics.json")) {
    const auto name = entry.at("metric").get<std::string>();
    SCOPED_TRACE(name + entry.at("config").dump());
    const json& y_pred = entry.at("y_pred");
    const bool flat_rows = !y_pred[0].is_array();
    LossCase c{.loss = from_keras(nn::loss_family(), "MeanSquaredError", json::object()),
               .metrics = {from_keras(nn::metric_family(), name, entry.at("config"))},
               .output = {flat_rows ? 1 : static_cast<std::int64_t>(y_pred[0].size())}};
    const bool classes = !flat_rows && !entry.at("y_true")[0].is_array();
    for (const double label : flat(entry.at("y_true"))) {
      if (classes)
        c.classes.push_back(static_cast<std::int32_t>(label));
      else
        c.rows.push_back(label);
    }
    for (const auto& device : devices()) {
      const LossResult found = run_loss(*device, c, flat(y_pred), 1);
      const double value = found.metrics.front().values(found.state(0), static_cast<double>(y_pred.size())).front();
      EXPECT_NEAR(value, flat(json::array({entry.at("value")})).front(), 2e-6) << device->description();
    }
  }
}

}  // namespace
}  // namespace dptrain::test
