// Every registered layer, loss, metric and optimizer has its definition, ops on every built-in device, and tests. The
// message names the missing one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>

#include "backend/device.h"
#include "backend/golden.h"
#include "backend/harness.h"
#include "backend/metric_op.h"
#include "backend/optimizer_op.h"
#include "dptrain_version.h"
#include "nn/layer.h"
#include "nn/loss.h"
#include "nn/optimizer.h"
#include "nn/reshaping.h"
#include "support/test_data.h"

namespace dptrain::test {
namespace {

/// "MeanIoU" -> "mean_io_u", "TopKCategoricalAccuracy" -> "top_k_categorical_accuracy", as in Keras.
std::string snake_case(const std::string& name) {
  const std::string inner = std::regex_replace(name, std::regex("(.)([A-Z][a-z]+)"), "$1_$2");
  std::string snake = std::regex_replace(inner, std::regex("([a-z0-9])([A-Z])"), "$1_$2");
  std::ranges::transform(snake, snake.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return snake;
}

/// Whether this program has tests of the op: TEST(Conv2DOp, ...) or TEST_P(ActivationOp, ...).
bool has_op_tests(const std::string& layer) {
  const testing::UnitTest& program = *testing::UnitTest::GetInstance();
  for (int i = 0; i < program.total_test_suite_count(); ++i) {
    const std::string suite = program.GetTestSuite(i)->name();
    if (suite == layer + "Op" || suite.ends_with("/" + layer + "Op")) return true;
  }
  return false;
}

void expect_file(const std::string& member, const std::string& path) {
  const std::filesystem::path root = dptrain::test::test_data("..");
  EXPECT_TRUE(std::filesystem::exists(root / path)) << member << " has no " << path;
}

/// Expects a row of a table that begins with the name.
void expect_row(const std::string& member, const std::string& page, const std::string& row) {
  std::ifstream in(dptrain::test::test_data("../docs/reference/" + page));
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(row)) return;
  ADD_FAILURE() << member << " has no row '" << row << "' in docs/reference/" << page;
}

using backend::DeviceKind;

std::vector<std::pair<DeviceKind, const char*>> kinds() {
  std::vector<std::pair<DeviceKind, const char*>> all{{DeviceKind::kCpu, "CPU"}, {DeviceKind::kEmu, "emulator"}};
  if (!kBuiltWithCuda.starts_with("no")) all.emplace_back(DeviceKind::kCuda, "CUDA");
  return all;
}

/// Devices only have ops of the image layer or of the layers that compute its passes. OverSteps compares the layer with
/// it, and with Keras's values.
void expect_computed_as_image_layer(const nn::LayerType& type, const nlohmann::json& golden_cases) {
  for (const auto& [kind, word] : kinds())
    EXPECT_FALSE(backend::has_op(kind, type.type))
        << type.name << " is computed as another layer, but has an op: " << word;
  EXPECT_TRUE(type.is_random(type.schema.make().get()) ||
              std::ranges::any_of(golden_cases, [&](const auto& c) { return c["layer"] == type.name; }))
      << type.name << " has no case in tests/golden/layers_of_steps.json or layers_of_volumes.json";
}

TEST(RollCall, EveryLayerIsDefinedAndTested) {
  nlohmann::json computed = golden("layers_of_steps.json");
  for (const auto& entry : golden("layers_of_volumes.json")) computed.push_back(entry);
  std::size_t ops = 0;
  for (const config::TypeDef* def : nn::layer_family().types()) {
    const auto& type = static_cast<const nn::LayerType&>(*def);
    if (type.name.starts_with("Test")) continue;  // layers of other tests, if one program contains all (GPU bundle)
    if (type.is_view || type.type == typeid(nn::InputSpec)) {
      for (const auto& [kind, word] : kinds())
        EXPECT_FALSE(backend::has_op(kind, type.type)) << type.name << " is not an operation, but has an op: " << word;
      continue;
    }
    EXPECT_TRUE(!type.examples.empty() || type.name == "Activation")
        << "layer " << type.name << " has no .example(...), which `devices --check` runs";
    if (type.applies) {
      for (const auto& [kind, word] : kinds())
        EXPECT_FALSE(backend::has_op(kind, type.type))
            << type.name << " applies another layer, but has an op: " << word;
      expect_file(type.name, "tests/golden/" + snake_case(type.name) + ".json");
      continue;
    }
    if (type.computed_as || type.passes) {
      expect_computed_as_image_layer(type, computed);
      continue;
    }
    for (const auto& [kind, word] : kinds())
      EXPECT_TRUE(backend::has_op(kind, type.type)) << "layer " << type.name << " has no op: " << word;
    EXPECT_TRUE(has_op_tests(type.name)) << "layer " << type.name << " has no TEST(" << type.name << "Op, ...)";
    ++ops;
  }
  EXPECT_GE(ops, 28U);
}

/// Golden.LossesAndTheirGradients runs the cases, KeyReference checks the documentation.
TEST(RollCall, EveryLossIsDefinedAndTested) {
  const nlohmann::json cases = golden("loss_gradients.json");
  for (const config::TypeDef* loss : nn::loss_family().types()) {
    for (const auto& [kind, word] : kinds())
      EXPECT_TRUE(backend::has_loss(kind, loss->type)) << "loss " << loss->name << " has no op: " << word;
    EXPECT_TRUE(std::ranges::any_of(cases, [&](const auto& c) { return c.at("loss") == loss->name; }))
        << loss->name << " has no case in tests/golden/loss_gradients.json";
  }
  EXPECT_GE(nn::loss_family().types().size(), 19U);
}

/// GoldenMetrics.OverSeveralBatches and DeviceCheck check values of the family, KeyReference its documentation.
TEST(RollCall, EveryMetricIsDefinedAndTested) {
  const std::vector<const config::TypeDef*> metrics = nn::metric_family().types();
  EXPECT_GE(metrics.size(), 15U);
  for (const config::TypeDef* metric : metrics) {
    const std::string name = snake_case(metric->name);
    EXPECT_EQ(nn::metric_family().find(name), metric) << "metric " << metric->name << " lacks Keras's string " << name;
    for (const auto& [kind, word] : kinds())
      EXPECT_TRUE(backend::has_metric_op(kind, metric->type)) << "metric " << metric->name << " has no op: " << word;
  }
}

TEST(RollCall, EveryOptimizerIsDefinedAndTested) {
  const nlohmann::json traces = golden("optimizers.json").at("cases");
  for (const config::TypeDef* def : nn::optimizer_family().types()) {
    for (const auto& [kind, word] : kinds())
      EXPECT_TRUE(backend::has_optimizer_op(kind, def->type)) << def->name << " has no op: " << word;
    EXPECT_TRUE(
        std::any_of(traces.begin(), traces.end(), [&](const auto& c) { return c.at("optimizer") == def->name; }))
        << def->name << " has no trace in tests/golden/optimizers.json";
    expect_row(def->name, "numerics.md", "| " + def->name + " |");
  }
  EXPECT_GE(nn::optimizer_family().types().size(), 10U);
}

}  // namespace
}  // namespace dptrain::test
