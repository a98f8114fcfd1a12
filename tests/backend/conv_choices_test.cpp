#include "backend/conv_choices.h"

#include <gmock/gmock.h>

#include <cmath>

#include "backend/cpu/conv/conv2d_choice.h"
#include "backend/cpu/conv/conv_key.h"
#include "backend/cpu/conv/conv_trial.h"
#include "backend/cpu/dnnl_support.h"
#include "core/error.h"
#include "kernels/cpu/parallel.h"

namespace dptrain::backend::cpu {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// "same" 3x3 of 16 to 24 channels over 9x8: the rules choose Winograd.
ConvShape many_channels(std::int64_t rows) {
  return {{.in_h = 9,
           .in_w = 8,
           .in_channels = 16,
           .out_h = 9,
           .out_w = 8,
           .out_channels = 24,
           .kernel_h = 3,
           .kernel_w = 3,
           .pad_top = 1,
           .pad_bottom = 1,
           .pad_left = 1,
           .pad_right = 1},
          rows,
          true,
          true};
}

ConvShape pooled(ConvShape shape) {
  shape.pool = true;
  return shape;
}

RuntimeOptions tuned_to(const std::string& name, ConvPassKind kind, const ConvShape& shape) {
  return {.conv_choices = std::make_shared<ConvChoices>(ConvChoices::Names{{conv_key(kind, shape), name}})};
}

TEST(ConvChoices, FollowTheRulesWithoutMeasurements) {
  Dnnl dnnl;
  const RuntimeOptions options{.conv_choices = std::make_shared<ConvChoices>()};
  const ChosenConv chosen = choose_conv_pass(ConvPassKind::kForward, many_channels(3), options, dnnl);
  EXPECT_STREQ(chosen.name, "winograd");
  EXPECT_FALSE(chosen.tuned);
  EXPECT_THAT(chosen.pass->name(), HasSubstr("winograd"));
}

TEST(ConvChoices, PreferMeasurementsForAnyBatch) {
  Dnnl dnnl;
  const RuntimeOptions options = tuned_to("dnnl blocked", ConvPassKind::kForward, many_channels(64));
  for (const std::int64_t rows : {1, 3, 64}) {
    const ChosenConv chosen = choose_conv_pass(ConvPassKind::kForward, many_channels(rows), options, dnnl);
    EXPECT_STREQ(chosen.name, "dnnl blocked");
    EXPECT_TRUE(chosen.tuned);
    EXPECT_THAT(chosen.pass->name(), testing::AllOf(HasSubstr("dnnl"), HasSubstr("blocked")));
  }
  const ChosenConv other = choose_conv_pass(ConvPassKind::kBackwardData, many_channels(3), options, dnnl);
  EXPECT_FALSE(other.tuned) << "another pass of the same convolution";
  const auto uses = options.conv_choices->uses();
  ASSERT_EQ(uses.size(), 2U) << "passes, for any number of rows";
  EXPECT_TRUE(uses.at(conv_key(ConvPassKind::kForward, many_channels(1))).tuned);
  EXPECT_EQ(uses.at(conv_key(ConvPassKind::kBackwardData, many_channels(1))).name, "winograd");
}

TEST(ConvChoices, ApplyToOneNumberOfThreads) {
  Dnnl dnnl;
  const RuntimeOptions options = tuned_to("dnnl nhwc", ConvPassKind::kForward, many_channels(3));
  kernels::cpu::set_thread_count(2);
  const ChosenConv chosen = choose_conv_pass(ConvPassKind::kForward, many_channels(3), options, dnnl);
  kernels::cpu::set_thread_count(1);
  EXPECT_FALSE(chosen.tuned);
}

TEST(ConvChoices, DirectPassesOverTunedWinograd) {
  Dnnl dnnl;
  ConvShape shape = many_channels(2);
  shape.in_channels = shape.out_channels = 4;  // the rules do not choose Winograd
  shape.groups = 1;
  RuntimeOptions options = tuned_to("winograd", ConvPassKind::kForward, shape);
  EXPECT_THAT(choose_conv_pass(ConvPassKind::kForward, shape, options, dnnl).pass->name(), HasSubstr("winograd"));
  options.conv = ConvChoice::kDirect;
  const ChosenConv chosen = choose_conv_pass(ConvPassKind::kForward, shape, options, dnnl);
  EXPECT_FALSE(chosen.tuned);
  EXPECT_THAT(chosen.pass->name(), Not(HasSubstr("winograd")));
}

TEST(ConvChoices, UnknownNamesFallBackToTheRules) {
  Dnnl dnnl;
  const RuntimeOptions options = tuned_to("abacus", ConvPassKind::kForward, many_channels(2));
  EXPECT_STREQ(choose_conv_pass(ConvPassKind::kForward, many_channels(2), options, dnnl).name, "winograd");
}

/// Result of one algorithm: y, dx, or dweights and dbias.
std::vector<float> result_of(ConvPassKind kind, const ConvShape& shape, ConvPass& pass) {
  ConvTrial trial(kind, shape);
  trial.allocate_scratch(pass);
  trial.run(pass);
  return trial.result();
}

TEST(ConvCandidates, AllComputeTheSame) {
  Dnnl dnnl;
  ConvShape first = many_channels(3);
  first.in_channels = 3;
  ConvShape pointwise = many_channels(3);
  pointwise.kernel_h = pointwise.kernel_w = 1;
  pointwise.pad_top = pointwise.pad_bottom = pointwise.pad_left = pointwise.pad_right = 0;
  ConvShape strided = pointwise;
  strided.stride_h = strided.stride_w = 2, strided.out_h = 5, strided.out_w = 4;
  for (const ConvShape& shape :
       {many_channels(3), pooled(many_channels(3)), first, pooled(first), pointwise, pooled(pointwise), strided})
    for (const ConvPassKind kind :
         {ConvPassKind::kForward, ConvPassKind::kBackwardData, ConvPassKind::kBackwardWeights}) {
      auto candidates = conv_candidates(kind, shape, ConvChoice::kAuto, dnnl);
      ASSERT_GE(candidates.size(), 2U) << conv_key(kind, shape);
      const std::vector<float> expected = result_of(kind, shape, *candidates.back().pass);
      EXPECT_THAT(candidates.back().pass->name(), HasSubstr("dnnl"));
      for (auto& candidate : candidates) {
        const std::vector<float> found = result_of(kind, shape, *candidate.pass);
        ASSERT_EQ(found.size(), expected.size());
        double difference = 0, norm = 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
          difference += std::pow(found[i] - expected[i], 2);
          norm += std::pow(expected[i], 2);
        }
        // Winograd F(4x4,3x3) rounds to about 1e-6 of the result.
        EXPECT_LT(std::sqrt(difference / norm), 1e-5) << candidate.name << ", " << conv_key(kind, shape);
      }
    }
}

TEST(ConvCandidates, DirectHasNoWinograd) {
  Dnnl dnnl;
  for (const ChosenConv& one : conv_candidates(ConvPassKind::kForward, many_channels(2), ConvChoice::kDirect, dnnl))
    EXPECT_STRNE(one.name, "winograd");
}

TEST(TimeConvolutions, TimesEveryAlgorithmOfEveryPass) {
  Dnnl dnnl;
  const RuntimeOptions options{.conv_choices = std::make_shared<ConvChoices>()};
  choose_conv_pass(ConvPassKind::kForward, pooled(many_channels(2)), options, dnnl);
  choose_conv_pass(ConvPassKind::kBackwardWeights, many_channels(2), options, dnnl);
  std::vector<ConvTiming> timings;
  time_convolutions(*options.conv_choices, ConvChoice::kAuto, 1,
                    [&](const ConvTiming& timing) { timings.push_back(timing); });
  ASSERT_EQ(timings.size(), 2U);
  for (const ConvTiming& timing : timings) {
    EXPECT_EQ(timing.rule, "winograd");
    EXPECT_EQ(timing.rows, 2);
    ASSERT_GE(timing.seconds.size(), 2U);
    double best = 0, least = 1e9;
    for (const auto& [name, seconds] : timing.seconds) {
      EXPECT_GT(seconds, 0);
      least = std::min(least, seconds);
      if (name == timing.best) best = seconds;
    }
    EXPECT_GE(least, 0.97 * best);
    EXPECT_GT(timing.gflops(), 0);
  }
}

}  // namespace
}  // namespace dptrain::backend::cpu
