// Verify with losses and gradients that are not finite. Agreement is tested in devices_test.cpp and slots_test.cpp.

#include "bench/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/step_comparison.h"
#include "session/devices.h"

namespace dptrain::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

experiment::Experiment experiment(const std::string& layers, const std::vector<std::string>& sets = {}) {
  const std::string text = "dptrain: 1\nname: tiny\nmodel: {layers: [" + layers +
                           "]}\ndata: {train: {Synthetic: {samples: 16}}}\n"
                           "train: {epochs: 1, batch_size: 8, loss: mse, optimizer: {SGD: {learning_rate: 0.05}}}\n";
  return experiment::load_experiment_text(text, "tiny.yaml", {sets, {}});
}

const VerifyRow& row_of(const VerifyResult& result, const std::string& layer) {
  return *std::ranges::find(result.rows, layer, &VerifyRow::layer);
}

TEST(Verify, FailsWhenAGradientIsNanOnBothSides) {
  // Infinite values of the right sign: sigmoid returns 0 or 1, and the gradient of `gate` is 0 * infinity.
  const VerifyResult result =
      verify(experiment("{Input: [1]}, {Dense: {name: trunk, units: 1, use_bias: false}}, "
                        "{Rescaling: 1e30}, {Rescaling: 1e30}, {Dense: {name: gate, units: 1, "
                        "activation: sigmoid, use_bias: false}}, {Dense: {name: head, units: 2}}"),
             {.devices = {.replicas = 2, .threads = 1}, .data = session::DataMode::kSynthetic, .steps = 2});
  EXPECT_EQ(result.not_finite, "");
  EXPECT_LE(result.loss, 1e-5);
  EXPECT_EQ(row_of(result, "gate").gradient, std::numeric_limits<double>::infinity());
  EXPECT_LE(row_of(result, "head").gradient, 1e-5);
  EXPECT_FALSE(result.passed);
}

TEST(Verify, NamesTheSideWhoseLossIsNotFinite) {
  // Beyond 65504, the largest number of 16 bits, on the emulator only: the CPU computes in float32.
  const VerifyResult result = verify(
      experiment("{Input: [5]}, {Rescaling: 1e6}, {Rescaling: 1e-6}, {Dense: 2}", {"train.dtype_policy=mixed_float16"}),
      {.devices = session::request_of({{backend::DeviceKind::kEmu, 0}}),
       .against = session::DeviceRequest{.replicas = 1, .threads = 1},
       .data = session::DataMode::kSynthetic,
       .steps = 1});
  EXPECT_THAT(result.not_finite, StartsWith("the loss of the run under test is "));
  EXPECT_THAT(result.not_finite, HasSubstr("in step 1"));
  EXPECT_EQ(result.loss, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(result.passed);
}

TEST(Verify, FailsWhenTheLossIsNanOnBothSides) {
  const VerifyResult result =
      verify(experiment("{Input: [5]}, {Rescaling: 1e30}, {Rescaling: 1e30}, {Dense: 2}"),
             {.devices = {.replicas = 2, .threads = 1}, .data = session::DataMode::kSynthetic, .steps = 2});
  EXPECT_EQ(result.not_finite, "the loss of the run under test is nan and of the reference is nan in step 1");
  EXPECT_EQ(result.loss, std::numeric_limits<double>::infinity());
  EXPECT_EQ(result.loss_drift, std::numeric_limits<double>::infinity());
  EXPECT_FALSE(result.passed);
}

TEST(Verify, DifferencesAreNeverNan) {
  session::Session session(experiment("{Input: [5]}, {Dense: {name: a, units: 2}}, {Dense: {name: b, units: 2}}"),
                           {.devices = {.replicas = 1, .threads = 1}, .data = session::DataMode::kSynthetic});
  session.replicas().pull(session.model());
  graph::Model one = session.model(), other = session.model();
  one.weights.front().values.front() = NAN;
  const Differences differences = weight_differences(one, other);
  EXPECT_EQ(differences.at("a"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(differences.at("b"), 0);
  EXPECT_EQ(weight_differences(one, one).at("a"), std::numeric_limits<double>::infinity());
  const auto loss = [](double value) { return runtime::StepSums{.loss = value}; };
  EXPECT_EQ(loss_difference(loss(NAN), loss(1)), std::numeric_limits<double>::infinity());
  EXPECT_EQ(loss_difference(loss(NAN), loss(NAN)), std::numeric_limits<double>::infinity());
  EXPECT_EQ(loss_difference(loss(INFINITY), loss(INFINITY)), std::numeric_limits<double>::infinity());
  EXPECT_EQ(loss_difference(loss(0), loss(0)), 0);
  EXPECT_EQ(loss_difference(loss(3), loss(2)), 0.5);
}

}  // namespace
}  // namespace dptrain::bench
