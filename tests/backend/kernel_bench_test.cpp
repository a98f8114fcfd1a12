#include "backend/kernel_bench.h"

#include <gmock/gmock.h>

#include <set>

#include "backend/conv_choices.h"
#include "backend/cpu/conv/conv2d_choice.h"
#include "backend/cpu/dnnl_support.h"
#include "core/error.h"

namespace dptrain::backend {
namespace {

using testing::HasSubstr;

std::vector<KernelTime> times_of(const ConvChoices& convolutions, const std::string& filter) {
  std::vector<KernelTime> times;
  bench_kernels(convolutions, {.threads = 1, .filter = filter, .min_seconds = 1e-4},
                [&](const KernelTime& time) { times.push_back(time); });
  return times;
}

class KernelBench : public testing::Test {
 protected:
  void SetUp() override {
    try {
      times_of(ConvChoices(), "^elementwise/fill$");
    } catch (const Error& error) {
      ASSERT_THAT(error.what(), HasSubstr("Google Benchmark"));
      GTEST_SKIP() << error.what();
    }
  }
};

TEST_F(KernelBench, TimesKernelsThatMatchTheFilter) {
  const auto times = times_of(ConvChoices(), "^pool/max2x2.*/forward|sum_ranks2");
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[1].name, "reduce/sum_ranks2");
  for (const KernelTime& time : times) {
    EXPECT_GT(time.milliseconds, 0);
    EXPECT_GT(time.gbytes, 0);
    EXPECT_EQ(time.gflops, 0);
    EXPECT_EQ(time.error, 0);
  }
}

TEST_F(KernelBench, TimesEveryAlgorithmOfConvolutions) {
  const RuntimeOptions options{.conv_choices = std::make_shared<ConvChoices>()};
  cpu::Dnnl dnnl;
  const cpu::ConvShape shape{{.in_h = 10,
                              .in_w = 10,
                              .in_channels = 16,
                              .out_h = 8,
                              .out_w = 8,
                              .out_channels = 16,
                              .kernel_h = 3,
                              .kernel_w = 3},
                             4,
                             true,
                             true,
                             true};
  cpu::choose_conv_pass(cpu::ConvPassKind::kBackwardData, shape, options, dnnl);
  std::set<std::string> names;
  for (const KernelTime& time : times_of(*options.conv_choices, "^conv/")) {
    names.insert(time.name);
    EXPECT_GT(time.gflops, 0) << time.name;
    EXPECT_GT(time.error, 1e-9) << time.name << ": float sums are not exact";
    EXPECT_LT(time.error, 1e-5) << time.name;
  }
  const std::string pass = "conv/10x10x16/3x3v/16/pool/data/";
  EXPECT_THAT(names, testing::IsSupersetOf({pass + "winograd", pass + "dnnl_blocked", pass + "naive"}));
}

TEST_F(KernelBench, ErrorsOfConvolutionsAreRoundingErrors) {
  const RuntimeOptions options{.conv_choices = std::make_shared<ConvChoices>()};
  cpu::Dnnl dnnl;
  const cpu::ConvShape strided{{.in_h = 9,
                                .in_w = 11,
                                .in_channels = 6,
                                .out_h = 5,
                                .out_w = 6,
                                .out_channels = 4,
                                .kernel_h = 3,
                                .kernel_w = 3,
                                .stride_h = 2,
                                .stride_w = 2,
                                .pad_top = 1,
                                .pad_bottom = 1,
                                .pad_left = 1,
                                .pad_right = 1},
                               2};
  cpu::ConvShape grouped = strided, dilated = strided;
  grouped.groups = 2;
  dilated.stride_h = dilated.stride_w = 1;
  dilated.dilation_h = 2, dilated.dilation_w = 3;
  dilated.out_h = 7;
  dilated.out_w = 7;
  for (const cpu::ConvShape& shape : {strided, grouped, dilated})
    for (const auto kind :
         {cpu::ConvPassKind::kForward, cpu::ConvPassKind::kBackwardData, cpu::ConvPassKind::kBackwardWeights})
      cpu::choose_conv_pass(kind, shape, options, dnnl);
  const auto times = times_of(*options.conv_choices, "^conv/");
  EXPECT_GE(times.size(), 2U * 9U) << "an algorithm and the naive loops per pass";
  for (const KernelTime& time : times) {
    EXPECT_GT(time.error, 1e-9) << time.name;
    EXPECT_LT(time.error, 2e-6) << time.name;
  }
}

TEST_F(KernelBench, RejectsInvalidFilters) {
  const auto refusal = [](const std::string& filter) -> std::string {
    try {
      times_of(ConvChoices(), filter);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal("no_such_kernel"), HasSubstr("no kernel's name matches 'no_such_kernel'"));
  EXPECT_THAT(refusal("("), HasSubstr("not a regular expression"));
}

}  // namespace
}  // namespace dptrain::backend
