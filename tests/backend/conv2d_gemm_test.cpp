#include "backend/cpu/conv/conv_passes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/shape.h"
#include "kernels/conv_reference.h"
#include "kernels/cpu/gemm_conv.h"

namespace dptrain::backend::cpu {
namespace {

ConvShape strided() {
  return {{.in_h = 5,
           .in_w = 6,
           .in_channels = 240,
           .out_h = 3,
           .out_w = 3,
           .out_channels = 250,
           .kernel_h = 3,
           .kernel_w = 3,
           .stride_h = 2,
           .stride_w = 2,
           .pad_top = 1,
           .pad_bottom = 1,
           .pad_left = 0,
           .pad_right = 1},
          2};
}

TEST(GemmConvPass, GradientOfLargeWeights) {
  const ConvShape shape = strided();
  const kernels::ConvWindow& window = shape;
  std::vector<float> x(2 * 5 * 6 * 240), dy(2 * 3 * 3 * 250), dweights(9 * 240 * 250, NAN), dbias(250, NAN);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) - 8.0F;  // whole numbers: sums are exact
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i % 13) - 6.0F;
  const auto pass = make_gemm_conv(ConvPassKind::kBackwardWeights, shape);
  ASSERT_NE(pass, nullptr);
  std::vector<float> scratch(pass->scratch() / sizeof(float), NAN);
  pass->run({.x = x.data(), .dy = dy.data(), .dweights = dweights.data(), .dbias = dbias.data()}, scratch.data());
  const std::vector<double> expected = kernels::cpu::test::naive_weight_gradient(window, x, dy, shape.rows);
  dweights.insert(dweights.end(), dbias.begin(), dbias.end());
  EXPECT_EQ(expected, std::vector<double>(dweights.begin(), dweights.end()));
}

TEST(GemmConvPass, GradientOfTheInputOfOnePixel) {
  const ConvShape shape{{.in_h = 3, .in_w = 5, .in_channels = 48, .out_h = 3, .out_w = 5, .out_channels = 37}, 2};
  const kernels::ConvWindow& window = shape;
  std::vector<float> dy(2 * 3 * 5 * 37), weights(48 * 37), dx(2 * 3 * 5 * 48, NAN);
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i % 17) - 8.0F;  // whole numbers, as above
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 13) - 6.0F;
  const auto pass = make_gemm_conv(ConvPassKind::kBackwardData, shape);
  ASSERT_NE(pass, nullptr);
  EXPECT_FALSE(pass->supports_fused_passes());
  std::vector<float> scratch(pass->scratch() / sizeof(float), NAN);
  pass->run({.weights = weights.data(), .dy = dy.data(), .dx = dx.data()}, scratch.data());
  EXPECT_EQ(kernels::cpu::test::naive_data_gradient(window, weights, dy, shape.rows),
            std::vector<double>(dx.begin(), dx.end()));
}

template <class Change>
ConvShape changed(Change change) {
  ConvShape shape = strided();
  change(shape);
  return shape;
}

TEST(GemmConvPass, RejectsOtherShapes) {
  const auto made = [](auto change, ConvPassKind kind = ConvPassKind::kBackwardWeights) {
    return make_gemm_conv(kind, changed(change)) != nullptr;
  };
  EXPECT_TRUE(made([](ConvShape&) {}));
  EXPECT_TRUE(made([](ConvShape& s) { s.kernel_h = s.kernel_w = 1, s.stride_h = s.stride_w = 1; }));
  EXPECT_TRUE(made([](ConvShape& s) { s.in_channels = 4; })) << "slow, but supported";
  EXPECT_FALSE(made([](ConvShape& s) { s.stride_h = s.stride_w = 1; }));
  EXPECT_FALSE(made([](ConvShape& s) { s.dilation_h = 2, s.dilation_w = 1; }));
  EXPECT_FALSE(made([](ConvShape& s) { s.groups = 2; }));
  EXPECT_FALSE(made([](ConvShape& s) { s.pool = true; }));
  EXPECT_FALSE(made([](ConvShape&) {}, ConvPassKind::kForward));
  EXPECT_FALSE(made([](ConvShape&) {}, ConvPassKind::kBackwardData));
}

TEST(GemmConvPass, IsChosenIfOneDnnIsSlower) {
  const auto is_faster = [](Size2 kernel, std::int64_t in, std::int64_t out) {
    return gemm_is_faster(ConvPassKind::kBackwardWeights, changed([&](ConvShape& s) {
                            s.kernel_h = kernel.h, s.kernel_w = kernel.w, s.in_channels = in, s.out_channels = out;
                            if (kernel == Size2{1, 1}) s.stride_h = s.stride_w = 1;
                          }),
                          rules_for({}));
  };
  EXPECT_TRUE(is_faster({3, 3}, 128, 128));
  EXPECT_FALSE(is_faster({3, 3}, 64, 64));
  EXPECT_TRUE(is_faster({1, 1}, 2048, 512));
  EXPECT_FALSE(is_faster({1, 1}, 1024, 256));
  EXPECT_TRUE(is_faster({1, 1}, 64, 256));
  EXPECT_FALSE(is_faster({1, 1}, 64, 64));
  EXPECT_FALSE(gemm_is_faster(ConvPassKind::kForward, strided(), rules_for({})));
}

TEST(GemmConvPass, IsChosenMoreOftenWithAvx2) {
  const ProcessorRules& rules = rules_for({.avx2 = true});
  const auto forward = [&](auto change) { return gemm_is_faster(ConvPassKind::kForward, changed(change), rules); };
  EXPECT_TRUE(forward([](ConvShape& s) { s.in_channels = s.out_channels = 128; }));
  EXPECT_FALSE(forward([](ConvShape& s) { s.in_channels = s.out_channels = 64; }));
  EXPECT_FALSE(forward([](ConvShape& s) { s.in_channels = 128, s.out_channels = 120; })) << "no kernel for it";
  EXPECT_FALSE(forward([](ConvShape& s) { s.in_channels = s.out_channels = 256, s.kernel_h = s.kernel_w = 1; }))
      << "1x1";
  EXPECT_FALSE(forward([](ConvShape& s) { s.in_channels = s.out_channels = 256, s.stride_h = s.stride_w = 1; }))
      << "not strided";
  EXPECT_TRUE(gemm_is_faster(ConvPassKind::kBackwardWeights, changed([](ConvShape& s) {
                               s.kernel_h = s.kernel_w = s.stride_h = s.stride_w = 1;
                               s.in_channels = 1024, s.out_channels = 256;
                             }),
                             rules));
}

TEST(GemmConvPass, ChoosesInputGradientsByProcessor) {
  const auto is_faster = [](const kernels::cpu::Processor& processor, auto change) {
    const ConvShape shape = changed([&](ConvShape& s) {
      s = {{.in_h = 14, .in_w = 14, .in_channels = 256, .out_h = 14, .out_w = 14, .out_channels = 64}, 8};
      change(s);
    });
    return gemm_is_faster(ConvPassKind::kBackwardData, shape, rules_for(processor));
  };
  const kernels::cpu::Processor intel{kernels::cpu::Processor::Vendor::kIntel, true};
  EXPECT_TRUE(is_faster(intel, [](ConvShape&) {}));
  EXPECT_TRUE(is_faster({.avx2 = true}, [](ConvShape&) {}));
  EXPECT_FALSE(is_faster({}, [](ConvShape&) {})) << "not measured there";
  EXPECT_FALSE(is_faster(intel, [](ConvShape& s) { s.in_channels = 250; })) << "no kernel for it";
  EXPECT_FALSE(is_faster(intel, [](ConvShape& s) { s.kernel_h = s.kernel_w = 3; }));
  EXPECT_FALSE(is_faster(intel, [](ConvShape& s) { s.stride_h = s.stride_w = 2, s.out_h = s.out_w = 7; }));
}

TEST(GemmConvPass, ChoosesWindowsReadInPlaceByProcessor) {
  using kernels::cpu::Processor;
  const auto is_faster = [](const Processor& processor, std::int64_t side, std::int64_t in, std::int64_t out) {
    const ConvShape shape = changed([&](ConvShape& s) {
      s.kernel_h = s.kernel_w = s.stride_h = s.stride_w = 1;
      s.pad_top = s.pad_left = 0;
      s.in_h = s.in_w = s.out_h = s.out_w = side;
      s.in_channels = in, s.out_channels = out;
    });
    EXPECT_TRUE(kernels::cpu::gemm_conv_reads_in_place(shape));
    return gemm_is_faster(ConvPassKind::kBackwardWeights, shape, rules_for(processor));
  };
  // 96, 160: no rows are a page apart, so kernels of every instruction set read them in place.
  const Processor unknown, intel{Processor::Vendor::kIntel, true}, amd{Processor::Vendor::kOther, true},
      older_intel{Processor::Vendor::kIntel, false};
  for (const Processor& p : {unknown, amd, older_intel}) {
    EXPECT_TRUE(is_faster(p, 56, 64, 96));
    EXPECT_TRUE(is_faster(p, 14, 1056, 160));
    EXPECT_TRUE(is_faster(p, 7, 2080, 544));
  }
  EXPECT_TRUE(is_faster(intel, 56, 64, 96));
  EXPECT_TRUE(is_faster(intel, 56, 160, 128));
  EXPECT_FALSE(is_faster(intel, 28, 160, 544));
  EXPECT_FALSE(is_faster(intel, 14, 1056, 160));
  EXPECT_TRUE(is_faster(intel, 7, 2080, 544)) << "by the rule of packed operands";
}

}  // namespace
}  // namespace dptrain::backend::cpu
