#include "optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "optim/example.h"
#include "optim/optimizer.h"
#include "support/test_data.h"

namespace dptrain::optim {
namespace {

using nlohmann::json;

Rate rate_of(const std::string& yaml, std::int64_t steps_per_epoch = 100, std::int64_t batch = 50) {
  const config::Typed sgd = make(optimizer_family(), "SGD: {learning_rate: " + yaml + "}");
  return make_rate(common(sgd).learning_rate, steps_per_epoch, batch);
}

TEST(Schedule, AgreesWithKeras) {
  std::ifstream file(dptrain::test::test_data("golden/schedules.json"));
  const json golden = json::parse(file);
  int compared = 0;
  for (const json& one : golden["cases"]) {
    const std::string name = one["schedule"];
    if (schedule_family().find(name) == nullptr) continue;
    const Rate rate = rate_of("{" + name + ": " + one["config"].dump() + "}");
    for (std::size_t i = 0; i < golden["steps"].size(); ++i) {
      // Keras computes in float32: 1e-6 of the largest rate around, since a cosine near its end has lost its leading
      // digits.
      const double expected = one["values"][i], step = golden["steps"][i];
      EXPECT_NEAR(rate(static_cast<std::int64_t>(step)), expected, 1e-6 * std::max(std::abs(expected), 0.1))
          << one["config"].dump() << " at step " << step;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 7 * 14);
}

TEST(Schedule, DurationsHaveUnits) {
  const std::string decay = "{ExponentialDecay: {initial_learning_rate: 1, decay_rate: 0.5, decay_steps: ";
  EXPECT_DOUBLE_EQ(rate_of(decay + "20}}")(20), 0.5);
  EXPECT_DOUBLE_EQ(rate_of(decay + "20 steps}}")(20), 0.5);
  EXPECT_DOUBLE_EQ(rate_of(decay + "2 epochs}}")(200), 0.5);
  EXPECT_DOUBLE_EQ(rate_of(decay + "1000 samples}}")(20), 0.5);
  // The towers at a global batch of 128: 350 epochs of 391 steps.
  EXPECT_DOUBLE_EQ(rate_of("{ExponentialDecay: {initial_learning_rate: 0.1, decay_steps: 350 epochs, decay_rate: 0.1, "
                           "staircase: true}}",
                           391, 128)(136850),
                   0.1 * 0.1);
}

TEST(Schedule, ConstantAndWarmUp) {
  EXPECT_DOUBLE_EQ(rate_of("1/255")(1000), 1.0 / 255);
  const Rate warm = rate_of(
      "{CosineDecay: {initial_learning_rate: 0, warmup_target: 1e-4, warmup_steps: 200 steps, "
      "decay_steps: 5 epochs}}");
  EXPECT_DOUBLE_EQ(warm(0), 0);
  EXPECT_DOUBLE_EQ(warm(100), 0.5e-4);
  EXPECT_DOUBLE_EQ(warm(200), 1e-4);
  EXPECT_NEAR(warm(700), 0, 1e-18);
}

TEST(Schedule, RefusesWhatCannotBe) {
  const auto errors = [](const std::string& yaml) { return read(schedule_family(), yaml).errors; };
  EXPECT_EQ(errors("PiecewiseConstantDecay: {boundaries: [10, 20], values: [1, 2]}"),
            "PiecewiseConstantDecay: values must be one more than boundaries, found 2 and 2\n");
  EXPECT_EQ(errors("PiecewiseConstantDecay: {boundaries: [20, 10], values: [1, 2, 3]}"),
            "PiecewiseConstantDecay: boundaries must increase\n");
  EXPECT_EQ(errors("CosineDecay: {initial_learning_rate: 0.1, decay_steps: 0}"),
            "CosineDecay: decay_steps must be > 0\n");
  EXPECT_EQ(errors("CosineDecay: {initial_learning_rate: 0.1, decay_steps: 10 minutes}"),
            "CosineDecay: decay_steps must be in steps, epochs or samples, not in seconds\n");
  EXPECT_EQ(errors("CosineDecay: {initial_learning_rate: 0.1, decay_steps: 10, warmup_steps: 3}"),
            "CosineDecay: warmup_steps needs a warmup_target\n");
  EXPECT_EQ(read(optimizer_family(), "SGD: {learning_rate: -0.1}").errors,
            "SGD: learning_rate must be >= 0, found -0.1\n");
  EXPECT_EQ(read(optimizer_family(), "SGD: {learning_rate: ExpDecay}").errors.substr(0, 49),
            "SGD: unknown learning-rate schedule 'ExpDecay'; k");
}

}  // namespace
}  // namespace dptrain::optim
