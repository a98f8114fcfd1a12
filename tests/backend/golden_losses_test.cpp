// Compares losses with Keras 3.

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "backend/golden.h"
#include "backend/harness.h"
#include "backend/loss_harness.h"
#include "nn/losses.h"

namespace dptrain::test {
namespace {

using nlohmann::json;

/// Labels and width of one entry; class labels are a flat list of integers.
void set_labels(LossCase& c, const json& y_true, bool classes) {
  if (classes)
    for (const double label : flat(y_true)) c.classes.push_back(static_cast<std::int32_t>(label));
  else
    c.rows = flat(y_true);
}

TEST(Golden, Losses) {
  std::size_t checked = 0;
  for (const json& entry : golden("losses.json")) {
    const auto name = entry.at("loss").get<std::string>();
    json arguments = entry.at("config");
    const std::string reduction = arguments.value("reduction", "sum_over_batch_size");
    arguments.erase("reduction");
    const auto* const type = static_cast<const nn::LossType*>(nn::loss_family().find(name));
    if (type == nullptr || !entry.at("sample_weight").is_null() || arguments.contains("ignore_class") ||
        !type->example.empty())  // needs axis: without it, the loss is over the whole batch
      continue;
    SCOPED_TRACE(entry.at("loss").dump() + entry.at("config").dump());
    LossCase c{.loss = from_keras(nn::loss_family(), name, arguments),
               .output = {static_cast<std::int64_t>(entry.at("y_pred")[0].size())},
               .from_logits = arguments.value("from_logits", false)};
    set_labels(c, entry.at("y_true"), name == "SparseCategoricalCrossentropy");
    const double rows = static_cast<double>(entry.at("y_pred").size());
    double expected = 0;
    for (const double value : flat(entry.at("value"))) expected += value;
    if (reduction == "sum_over_batch_size") expected *= rows;
    for (const auto& device : devices()) {
      const auto found = run_loss(*device, c, flat(entry.at("y_pred")), 1 / rows);
      EXPECT_NEAR(found.sums[0] - kStartSum, expected, on_device(*device, 2e-6) * std::abs(expected))
          << device->description();
    }
    ++checked;
  }
  EXPECT_GE(checked, 22U);
}

/// Values and gradients of every loss, with labels at one position and at several.
TEST(Golden, LossesAndTheirGradients) {
  std::set<std::string> checked;
  for (const json& entry : golden("loss_gradients.json")) {
    const auto name = entry.at("loss").get<std::string>();
    SCOPED_TRACE(name + entry.at("config").dump() + entry.at("shape").dump());
    std::vector<std::int64_t> shape = entry.at("shape");
    const double rows = static_cast<double>(shape.front());
    shape.erase(shape.begin());
    LossCase c{.loss = from_keras(nn::loss_family(), name, entry.at("config")),
               .output = Shape(shape),
               .from_logits = entry.at("config").value("from_logits", false)};
    set_labels(c, entry.at("y_true"), nn::loss_type(c.loss).integer_labels_only);
    for (const auto& device : devices()) {
      const auto found = run_loss(*device, c, flat(entry.at("y_pred")), 1 / rows);
      const double value = entry.at("value").get<double>();
      EXPECT_NEAR((found.sums[0] - kStartSum) / rows, value, on_device(*device, 2e-6) * std::abs(value) + 1e-7)
          << device->description();
      expect_close(found.gradient, flat(entry.at("gradient")), 1e-5, "gradient");
    }
    checked.insert(name);
  }
  for (const config::TypeDef* loss : nn::loss_family().types())
    EXPECT_TRUE(checked.contains(loss->name)) << loss->name << " has no case in tests/golden/loss_gradients.json";
}

}  // namespace
}  // namespace dptrain::test
