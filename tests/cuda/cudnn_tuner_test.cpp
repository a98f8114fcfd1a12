// The choice by time and by result, with engines in plain loops and the tuner's inputs on the emulator, and on a GPU.

#include "cuda/conv_on_gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "backend/cuda/cudnn_tuner.h"
#include "backend/cuda/trial_inputs.h"
#include "core/error.h"
#include "kernels/cuda/elementwise.h"

namespace dptrain::test {
namespace {

using backend::cuda::ConvPass;
using backend::cuda::EngineTrials;
using backend::cuda::find_fastest;
using backend::cuda::Rejections;
using backend::cuda::result_tolerance;
using backend::cuda::TrialOutcome;
using testing::HasSubstr;
using testing::StartsWith;

namespace emu = kernels::DPTRAIN_BACKEND;

/// The numbers that the tuner writes to a tensor.
Values trial_values(std::uint32_t tensor, std::int64_t n, DType type) {
  const kernels::StepState zeros{};
  Values values(static_cast<std::size_t>(n));
  backend::cuda::randomize({}, DType::kF32, tensor, &zeros, values.data(), n);
  for (float& value : values) value = rounded(value, type);
  return values;
}

/// An engine of the forward pass: writes y from x and the filter.
using HostEngine = std::function<void(const Values& x, const Values& filter, Values& y)>;

struct TimedEngine {
  std::string name;
  double microseconds;
  HostEngine run;
};

class HostTrials final : public EngineTrials {
 public:
  HostTrials(const ConvProblem& problem, Values x, Values filter, std::vector<TimedEngine> engines)
      : x_(std::move(x)),
        filter_(std::move(filter)),
        y_(static_cast<std::size_t>(Sizes(problem).y)),
        reference_(y_.size()),
        engines_(std::move(engines)) {}

  std::string name(std::size_t engine) const override { return engines_[engine].name; }
  void run(std::size_t engine) override {
    y_.assign(y_.size(), NAN);
    engines_[engine].run(x_, filter_, y_);
  }
  Difference compare() override {
    float largest[2] = {};
    emu::largest_difference({}, DType::kF32, y_.data(), reference_.data(), static_cast<std::int64_t>(y_.size()),
                            largest);
    return {.largest = largest[0], .output = largest[1]};
  }
  void keep() override { reference_ = y_; }
  double time(std::size_t engine, double) override { return engines_[engine].microseconds; }
  void recover() override { ++recovered; }

  int recovered = 0;

 private:
  Values x_, filter_, y_, reference_;
  std::vector<TimedEngine> engines_;
};

/// y as the sums of products, rounded to the type, from x moved by `shift` elements.
HostEngine sums(const ConvProblem& p, std::size_t shift = 0, double factor = 1) {
  return [p, shift, factor](const Values& x, const Values& filter, Values& y) {
    std::vector<double> sum(y.size());
    for_products(p, [&](std::size_t i, std::size_t j, std::size_t o) {
      sum[o] += double{x[(i + shift) % x.size()]} * filter[j];
    });
    for (std::size_t o = 0; o < y.size(); ++o) y[o] = rounded(static_cast<float>(sum[o] * factor), p.type);
  };
}

/// The same with float sums and the other order of rows, as another engine rounds it.
HostEngine float_sums(const ConvProblem& p) {
  return [p](const Values& x, const Values& filter, Values& y) {
    std::vector<std::vector<float>> products(y.size());
    for_products(p, [&](std::size_t i, std::size_t j, std::size_t o) { products[o].push_back(x[i] * filter[j]); });
    for (std::size_t o = 0; o < y.size(); ++o) {
      float sum = 0;
      for (auto product = products[o].rbegin(); product != products[o].rend(); ++product) sum += *product;
      y[o] = rounded(sum, p.type);
    }
  };
}

const ConvProblem kSmall{{.in_h = 9,
                          .in_w = 7,
                          .in_channels = 5,
                          .out_h = 9,
                          .out_w = 7,
                          .out_channels = 6,
                          .kernel_h = 3,
                          .kernel_w = 3,
                          .pad_top = 1,
                          .pad_bottom = 1,
                          .pad_left = 1,
                          .pad_right = 1},
                         3};

ConvProblem small(DType type) {
  ConvProblem problem = kSmall;
  problem.type = type;
  return problem;
}

HostTrials trials_of(const ConvProblem& p, std::vector<TimedEngine> engines) {
  return {p, trial_values(0, Sizes(p).x, p.type), trial_values(1, Sizes(p).filter, p.type), std::move(engines)};
}

constexpr double kStrict = 1e-4;

TEST(Tuner, TakesTheFastestOfEnginesThatAgree) {
  for (const DType type : {DType::kF32, DType::kBf16, DType::kF16}) {
    const ConvProblem p = small(type);
    HostTrials trials = trials_of(p, {{"first", 10, sums(p)}, {"little", 9.8, sums(p)}, {"faster", 7, float_sums(p)}});
    Rejections rejections;
    const TrialOutcome outcome = find_fastest(trials, 3, result_tolerance(type, {.tf32 = false}), rejections);
    EXPECT_EQ(outcome.fastest, 2U) << name_of(type) << ": " << outcome.first_difference;
    EXPECT_EQ(outcome.microseconds, 7);
    EXPECT_EQ(outcome.first_difference, "");
    EXPECT_EQ(rejections.text(), "the heuristics name none");
  }
  HostTrials close = trials_of(kSmall, {{"first", 10, sums(kSmall)}, {"little", 9.8, sums(kSmall)}});
  Rejections rejections;
  EXPECT_EQ(find_fastest(close, 2, kStrict, rejections).fastest, 0U);
}

TEST(Tuner, RejectsEnginesWithOtherResults) {
  const auto filter_turned = [](const Values& x, const Values& filter, Values& y) {
    Values turned = filter;
    for (std::size_t k = 0; k < 6; ++k)
      for (std::size_t r = 0; r < 3; ++r)
        for (std::size_t s = 0; s < 3; ++s)
          for (std::size_t c = 0; c < 5; ++c)
            turned[((k * 3 + r) * 3 + s) * 5 + c] = filter[((k * 3 + s) * 3 + r) * 5 + c];
    sums(kSmall)(x, turned, y);
  };
  const auto last_missing = [](const Values& x, const Values& filter, Values& y) {
    sums(kSmall)(x, filter, y);
    y.back() = NAN;
  };
  HostTrials trials = trials_of(kSmall, {{"first", 10, sums(kSmall)},
                                         {"shifted", 1, sums(kSmall, 1)},
                                         {"turned", 2, filter_turned},
                                         {"idle", 3, [](const Values&, const Values&, Values&) {}},
                                         {"partial", 4, last_missing},
                                         {"lossy", 5, sums(kSmall, 0, 1.0005)},
                                         {"right", 6, sums(kSmall)}});
  Rejections rejections;
  const TrialOutcome outcome = find_fastest(trials, 7, kStrict, rejections);
  EXPECT_EQ(outcome.fastest, 6U) << rejections.text();
  EXPECT_THAT(outcome.first_difference, StartsWith("shifted: result differs from first by "));
  EXPECT_THAT(outcome.first_difference, HasSubstr(" of its largest value, expected 1e-04 at most"));
  EXPECT_THAT(rejections.text(), HasSubstr("writes no number to some elements of its result: idle, partial"));
  for (const char* name : {"shifted", "turned", "lossy"}) EXPECT_THAT(rejections.text(), HasSubstr(name));
}

// Why the inputs are random: this is what a constant in all tensors would let through.
TEST(Tuner, ConstantsWouldHideWrongIndices) {
  const auto inputs = [](auto fill) { return std::pair(fill(0, Sizes(kSmall).x), fill(1, Sizes(kSmall).filter)); };
  const auto chosen = [](const std::pair<Values, Values>& values) {
    ConvProblem inner = kSmall;  // without padding, where constants would show a shift
    inner.out_h = inner.in_h - 2;
    inner.out_w = inner.in_w - 2;
    inner.pad_top = inner.pad_bottom = inner.pad_left = inner.pad_right = 0;
    HostTrials trials(inner, values.first, values.second, {{"first", 2, sums(inner)}, {"shifted", 1, sums(inner, 1)}});
    Rejections rejections;
    return find_fastest(trials, 2, kStrict, rejections).fastest;
  };
  EXPECT_EQ(chosen(inputs([](int, std::int64_t n) { return Values(static_cast<std::size_t>(n), 0.0115F); })), 1U);
  EXPECT_EQ(chosen(inputs([](std::uint32_t tensor, std::int64_t n) { return trial_values(tensor, n, DType::kF32); })),
            0U);
}

TEST(Tuner, ComparesWithTheFirstEngineThatWrites) {
  const auto throws = [](const Values&, const Values&, Values&) { throw Error(ErrorKind::kDevice, "not here"); };
  HostTrials trials =
      trials_of(kSmall, {{"broken", 1, throws},
                         {"idle", 2, [](const Values&, const Values&, Values&) {}},
                         {"zeros", 3, [](const Values&, const Values&, Values& y) { y.assign(y.size(), 0.0F); }},
                         {"right", 9, sums(kSmall)},
                         {"shifted", 4, sums(kSmall, 1)}});
  Rejections rejections;
  EXPECT_EQ(find_fastest(trials, 5, kStrict, rejections).fastest, 3U);
  EXPECT_EQ(trials.recovered, 1);
  EXPECT_THAT(rejections.text(), HasSubstr("not here: broken"));
  EXPECT_THAT(rejections.text(), HasSubstr("writes zeros only: zeros"));
  EXPECT_THAT(rejections.text(), HasSubstr("result differs from right by "));
  EXPECT_EQ(find_fastest(trials, 3, kStrict, rejections).fastest, std::nullopt);
}

TEST(Tuner, AllowsTheRoundingOfEachType) {
  // The factors of TF32, cut to 10 bits.
  const auto cut = [](const Values& values) {
    Values short_ones = values;
    for (float& value : short_ones) value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xFFFFE000U);
    return short_ones;
  };
  const auto tf32 = [&](const Values& x, const Values& filter, Values& y) { sums(kSmall)(cut(x), cut(filter), y); };
  const auto chosen = [&](const ConvOptions& options) {
    HostTrials trials = trials_of(kSmall, {{"first", 2, sums(kSmall)}, {"cut", 1, tf32}});
    Rejections rejections;
    return find_fastest(trials, 2, result_tolerance(DType::kF32, options), rejections).fastest;
  };
  EXPECT_EQ(chosen({.tf32 = true}), 1U);
  EXPECT_EQ(chosen({.tf32 = false}), 0U);
  // A last place of bfloat16 in every element.
  const ConvProblem p = small(DType::kBf16);
  HostTrials trials = trials_of(p, {{"first", 2, sums(p)}, {"up", 1, sums(p, 0, 1 + 1.0 / 256)}});
  Rejections rejections;
  EXPECT_EQ(find_fastest(trials, 2, result_tolerance(DType::kBf16, {}), rejections).fastest, 1U) << rejections.text();
}

TEST(Tuner, InputsDifferByPositionAndStayInRange) {
  constexpr std::int64_t kMany = 100'000;
  const Values x = trial_values(0, kMany, DType::kF32), y = trial_values(1, kMany, DType::kF32);
  Values sorted = x;
  std::ranges::sort(sorted);
  EXPECT_GT(std::ranges::unique(sorted).begin() - sorted.begin(), kMany * 99 / 100);
  double square = 0, product = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_LT(std::abs(x[i]), 4) << i;
    square += double{x[i]} * x[i];
    product += double{x[i]} * y[i];
  }
  EXPECT_NEAR(square / kMany, 0.25, 0.01);
  EXPECT_LT(std::abs(product), 5 * 0.25 * std::sqrt(kMany)) << "the tensors are correlated";
}

TEST(GpuTrials, CompareTheEnginesOfAGpu) {
  DPTRAIN_NEED_GPU();
  using namespace backend::cuda;
  const auto runtime = make_cuda_runtime(0);
  runtime->enter();
  CudnnHandle handle;
  const DeviceProperties device = DeviceProperties::from_device(0);
  for (const Precision& precision : kPrecisions)
    for (const ConvPass pass : {ConvPass::kForward, ConvPass::kData, ConvPass::kWeights}) {
      const ConvProblem p = small(precision.type);
      const ConvOptions options{.tf32 = precision.tf32};
      Rejections rejections;
      std::vector<std::shared_ptr<EnginePlan>> plans;
      for (EnginePlan& plan : find_engines(make_conv_graph(p, pass, {}), device,
                                           {.type = p.type, .options = options, .pass = pass, .wanted = 8}, rejections))
        plans.push_back(std::make_shared<EnginePlan>(std::move(plan)));
      ASSERT_FALSE(plans.empty());
      const auto trials = make_gpu_trials(*runtime, handle, p, pass, plans);
      trials->run(0);
      const EngineTrials::Difference first = trials->compare();
      EXPECT_GT(first.output, 0.5) << precision.name << ' ' << name_of(pass);
      trials->keep();
      const EngineTrials::Difference same = trials->compare();
      EXPECT_EQ(same.largest, 0);
      EXPECT_EQ(same.output, first.output);
      const TrialOutcome outcome = find_fastest(*trials, plans.size(), result_tolerance(p.type, options), rejections);
      EXPECT_TRUE(outcome.fastest);
      EXPECT_EQ(outcome.first_difference, "") << precision.name << ' ' << name_of(pass);
    }
}

}  // namespace
}  // namespace dptrain::test
