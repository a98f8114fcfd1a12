#include "bench/device_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backend/device.h"
#include "nn/layer.h"
#include "nn/loss.h"
#include "nn/metric.h"
#include "nn/optimizer.h"
#include "support/sanitizer.h"

namespace dptrain::bench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const session::DeviceRequest kEmulator = session::request_of({{backend::DeviceKind::kEmu, 0}});

std::vector<DeviceCheckLine> lines_of(const std::vector<DeviceCheck>& checks, bool passes) {
  std::vector<DeviceCheckLine> lines;
  EXPECT_EQ(check_devices(kEmulator, checks, [&](const DeviceCheckLine& line) { lines.push_back(line); }), passes);
  return lines;
}

TEST(DeviceCheck, HasEveryLayerLossMetricAndOptimizer) {
  std::string names;
  for (const DeviceCheck& check : device_checks())
    for (const std::string& name : check.names) names += "|" + name + "|";
  for (const config::TypeDef* layer : nn::layer_family().types()) {
    const auto& type = static_cast<const nn::LayerType&>(*layer);
    const bool has_op =
        backend::has_op(backend::DeviceKind::kEmu, layer->type) || type.computed_as || type.applies || type.passes;
    if (!has_op || layer->name == "Activation") continue;
    EXPECT_THAT(names, testing::AnyOf(HasSubstr("|" + layer->name + "|"), HasSubstr("|" + layer->name + ", ")))
        << "add .example(...) to the definition of the layer";
  }
  for (const config::TypeDef* loss : nn::loss_family().types()) EXPECT_THAT(names, HasSubstr("|" + loss->name + "|"));
  for (const config::TypeDef* metric : nn::metric_family().types())
    EXPECT_THAT(names, HasSubstr("|" + metric->name + "|"));
  for (const config::TypeDef* optimizer : nn::optimizer_family().types())
    EXPECT_THAT(names, HasSubstr("|" + optimizer->name));
}

TEST(DeviceCheck, TheEmulatorPasses) {
  const std::vector<DeviceCheckLine> lines = lines_of(device_checks(), true);
  EXPECT_GT(lines.size(), 90U);
  EXPECT_EQ(lines.front().name, "memory and copies");
  EXPECT_THAT(lines.back().name, HasSubstr("over 2 replicas"));
  EXPECT_EQ(lines.back().device, "emu:0, emu:0");
  for (const DeviceCheckLine& line : lines) EXPECT_TRUE(line.passed) << line.name << ": " << line.found;
}

TEST(DeviceCheck, NamesEachDifferenceAndContinues) {
  if (test::kThreadSanitizer || test::kAddressSanitizer) GTEST_SKIP() << "the launches of TheEmulatorPasses; a minute";
  std::vector<DeviceCheck> checks;
  int expected = 0;
  for (DeviceCheck& check : device_checks()) {
    if (std::ranges::count(check.names, "MaxPooling2D") > 0 || check.names.front() == "SGD") {
      check.layers = 0;
      expected += static_cast<int>(check.names.size());
    }
    checks.push_back(std::move(check));
  }
  int failed = 0, passed = 0;
  for (const DeviceCheckLine& line : lines_of(checks, false)) {
    ++(line.passed ? passed : failed);
    if (line.passed) continue;
    EXPECT_THAT(line.found, AllOf(HasSubstr(" of layer "), HasSubstr(" differ"), HasSubstr("allowed 0e+00")));
  }
  EXPECT_EQ(expected, 11);  // ten layers that are checked together, and plain SGD
  EXPECT_EQ(failed, expected);
  EXPECT_GT(passed, 80);
}

TEST(DeviceCheck, ReportsAnErrorAsALine) {
  DeviceCheck wrong;
  wrong.names = {"nothing"};
  wrong.config = [](int) { return std::string("dptrain: 1\n"); };
  const std::vector<DeviceCheckLine> lines = lines_of({wrong}, false);
  const auto found = std::ranges::find(lines, "nothing", &DeviceCheckLine::name);
  ASSERT_NE(found, lines.end());
  EXPECT_THAT(found->found, StartsWith("nothing:1:1: error: "));
  EXPECT_EQ(found->found.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace dptrain::bench
