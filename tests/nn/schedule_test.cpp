#include "nn/schedule.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "nn/example.h"
#include "nn/optimizer.h"
#include "support/test_data.h"

namespace dptrain::nn {
namespace {

using nlohmann::json;

Rate rate_by_progress(const std::string& yaml, std::int64_t steps_per_epoch, std::int64_t batch) {
  const config::Typed sgd = make(optimizer_family(), "SGD: {learning_rate: " + yaml + "}");
  return make_rate(common(sgd).learning_rate, steps_per_epoch, batch);
}

/// The rate of a run with a constant batch size.
std::function<double(std::int64_t step)> rate_of(const std::string& yaml, std::int64_t steps_per_epoch = 100,
                                                 std::int64_t batch = 50) {
  return [rate = rate_by_progress(yaml, steps_per_epoch, batch)](std::int64_t step) {
    return rate(Progress::at_step(step));
  };
}

TEST(Schedule, AgreesWithKeras) {
  std::ifstream file(dptrain::test::test_data("golden/schedules.json"));
  const json golden = json::parse(file);
  int compared = 0;
  for (const json& one : golden["cases"]) {
    const std::string name = one["schedule"];
    const auto rate = rate_of("{" + name + ": " + one["config"].dump() + "}");
    for (std::size_t i = 0; i < golden["steps"].size(); ++i) {
      // Keras computes in float32: 1e-6 of the largest rate nearby, as a cosine near its end has lost its leading
      // digits.
      const double expected = one["values"][i], step = golden["steps"][i];
      EXPECT_NEAR(rate(static_cast<std::int64_t>(step)), expected, 1e-6 * std::max(std::abs(expected), 0.1))
          << one["config"].dump() << " at step " << step;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 18 * 14);
}

/// Reference values and documentation: the message names what a registered schedule lacks.
TEST(Schedule, EveryScheduleIsDocumentedAndTested) {
  const auto text_of = [](const std::string& path) {
    std::ifstream file(dptrain::test::test_data("../" + path));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string golden = text_of("tests/golden/schedules.json"), numerics = text_of("docs/reference/numerics.md");
  for (const std::string& name : schedule_family().names()) {
    EXPECT_NE(golden.find("\"schedule\": \"" + name + "\""), std::string::npos) << name << ": no golden case";
    EXPECT_NE(numerics.find("\n| " + name + " |"), std::string::npos)
        << name << ": no row in docs/reference/numerics.md";
  }
  EXPECT_GE(schedule_family().names().size(), 7U);
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
  const auto warm = rate_of(
      "{CosineDecay: {initial_learning_rate: 0, warmup_target: 1e-4, warmup_steps: 200 steps, "
      "decay_steps: 5 epochs}}");
  EXPECT_DOUBLE_EQ(warm(0), 0);
  EXPECT_DOUBLE_EQ(warm(100), 0.5e-4);
  EXPECT_DOUBLE_EQ(warm(200), 1e-4);
  EXPECT_NEAR(warm(700), 0, 1e-18);
}

TEST(Schedule, WarmupWorksWithEverySchedule) {
  const auto constant = rate_of("{Warmup: {warmup_steps: 2 epochs, then: 0.1}}");
  EXPECT_DOUBLE_EQ(constant(0), 0);
  EXPECT_DOUBLE_EQ(constant(50), 0.025);
  EXPECT_DOUBLE_EQ(constant(200), 0.1);
  EXPECT_DOUBLE_EQ(constant(100000), 0.1);
  const auto decay = rate_of(
      "{Warmup: {initial_learning_rate: 0.5, warmup_steps: 5000 samples, "
      "then: {ExponentialDecay: {initial_learning_rate: 1, decay_rate: 0.5, decay_steps: 1 epoch}}}}");
  EXPECT_DOUBLE_EQ(decay(50), 0.75);
  EXPECT_DOUBLE_EQ(decay(100), 1);  // later steps count from here
  EXPECT_DOUBLE_EQ(decay(200), 0.5);
  // Keras's own warm-up is equal.
  const auto own =
      rate_of("{CosineDecay: {initial_learning_rate: 0.01, warmup_target: 0.1, warmup_steps: 30, decay_steps: 100}}");
  const auto around = rate_of(
      "{Warmup: {initial_learning_rate: 0.01, warmup_steps: 30, "
      "then: {CosineDecay: {initial_learning_rate: 0.1, decay_steps: 100}}}}");
  for (std::int64_t s = 0; s < 150; ++s) EXPECT_DOUBLE_EQ(own(s), around(s)) << s;
}

/// Two of four epochs were trained with 200 steps each, the rest has 100.
TEST(Schedule, EpochsAndSamplesFollowSamplesAndStepsFollowUpdates) {
  const Progress progress{.updates = 400, .batches = 200};
  const auto at_half = [&](const std::string& yaml) { return rate_by_progress(yaml, 100, 50)(progress); };
  EXPECT_DOUBLE_EQ(at_half("{CosineDecay: {initial_learning_rate: 1, decay_steps: 4 epochs}}"), 0.5);
  EXPECT_DOUBLE_EQ(at_half("{CosineDecay: {initial_learning_rate: 1, decay_steps: 20000 samples}}"), 0.5);
  EXPECT_DOUBLE_EQ(at_half("{CosineDecay: {initial_learning_rate: 1, decay_steps: 800}}"), 0.5);
  EXPECT_DOUBLE_EQ(at_half("{CosineDecay: {initial_learning_rate: 1, decay_steps: 800 steps}}"), 0.5);
  EXPECT_DOUBLE_EQ(at_half("{CosineDecayRestarts: {initial_learning_rate: 1, first_decay_steps: 4 epochs}}"), 0.5);
  EXPECT_DOUBLE_EQ(at_half("{ExponentialDecay: {initial_learning_rate: 1, decay_steps: 2 epochs, decay_rate: 0.5}}"),
                   0.5);
  EXPECT_DOUBLE_EQ(at_half("{InverseTimeDecay: {initial_learning_rate: 1, decay_steps: 2 epochs, decay_rate: 1}}"),
                   0.5);
  EXPECT_DOUBLE_EQ(
      at_half("{PolynomialDecay: {initial_learning_rate: 1, end_learning_rate: 0, decay_steps: 4 epochs}}"), 0.5);
  EXPECT_DOUBLE_EQ(at_half("{PiecewiseConstantDecay: {boundaries: [2 epochs, 3 epochs], values: [3, 2, 1]}}"), 3);
  EXPECT_DOUBLE_EQ(at_half("{PiecewiseConstantDecay: {boundaries: [399 steps, 3 epochs], values: [3, 2, 1]}}"), 2);
  EXPECT_DOUBLE_EQ(at_half("{Warmup: {warmup_steps: 4 epochs, then: 1}}"), 0.5);
  EXPECT_DOUBLE_EQ(at_half("{Warmup: {warmup_steps: 800, then: 1}}"), 0.5);
  // The decay begins after a warm-up of an epoch: half of it is over.
  EXPECT_DOUBLE_EQ(at_half("{Warmup: {warmup_steps: 1 epoch, then: {CosineDecay: {initial_learning_rate: 1, "
                           "decay_steps: 2 epochs}}}}"),
                   0.5);
  EXPECT_DOUBLE_EQ(at_half("{CosineDecay: {initial_learning_rate: 0, warmup_target: 1, warmup_steps: 1 epoch, "
                           "decay_steps: 2 epochs}}"),
                   0.5);
}

/// Restarts are at their step, independent of the rounding of a logarithm.
TEST(Schedule, RestartsAtTheExactStep) {
  const auto rate =
      rate_of("{CosineDecayRestarts: {initial_learning_rate: 1, first_decay_steps: 1000, t_mul: 3, m_mul: 0.5}}");
  double begin = 0, length = 1000, height = 1;
  for (int i = 0; i < 12; ++i) {
    EXPECT_DOUBLE_EQ(rate(static_cast<std::int64_t>(begin)), height) << "restart " << i;
    if (i > 0) {
      EXPECT_LT(rate(static_cast<std::int64_t>(begin) - 1), 1e-5) << "before restart " << i;
    }
    EXPECT_NEAR(rate(static_cast<std::int64_t>(begin + length / 2)), height / 2, 1e-9);
    begin += length;
    length *= 3;
    height /= 2;
  }
}

TEST(Schedule, RejectsInvalidSchedules) {
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
  EXPECT_EQ(errors("CosineDecayRestarts: {initial_learning_rate: 0.1, first_decay_steps: 10, t_mul: 0.5}"),
            "CosineDecayRestarts: t_mul must be >= 1, found 0.5\n");
  EXPECT_EQ(errors("Warmup: {warmup_steps: 10}"), "Warmup: missing argument 'then'\n");
  EXPECT_EQ(errors("Warmup: {warmup_steps: 0, then: 0.1}"), "Warmup: warmup_steps must be > 0\n");
  EXPECT_EQ(errors("Warmup: {warmup_steps: 1, then: -0.1}"), "Warmup: then must be >= 0, found -0.1\n");
  EXPECT_EQ(errors("Warmup: {warmup_steps: 1, then: {CosineDecay: {initial_learning_rate: 0.1}}}"),
            "Warmup: CosineDecay: missing argument 'decay_steps'\n");
  EXPECT_EQ(read(optimizer_family(), "SGD: {learning_rate: -0.1}").errors,
            "SGD: learning_rate must be >= 0, found -0.1\n");
  EXPECT_EQ(read(optimizer_family(), "SGD: {learning_rate: ExpDecay}").errors.substr(0, 49),
            "SGD: unknown learning-rate schedule 'ExpDecay'; e");
}

}  // namespace
}  // namespace dptrain::nn
