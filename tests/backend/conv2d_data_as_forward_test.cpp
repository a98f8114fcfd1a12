#include "backend/cpu/conv/conv_passes.h"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include "backend/cpu/conv/conv2d_choice.h"
#include "backend/cpu/dnnl_support.h"
#include "kernels/conv_reference.h"

namespace dptrain::backend::cpu {
namespace {

ConvShape pointwise(std::int64_t h, std::int64_t w, Size2 strides) {
  return {{.in_h = h,
           .in_w = w,
           .in_channels = 19,
           .out_h = (h + strides.h - 1) / strides.h,
           .out_w = (w + strides.w - 1) / strides.w,
           .out_channels = 37,
           .stride_h = strides.h,
           .stride_w = strides.w},
          3,
          false};
}

TEST(DataAsForwardConvPass, GradientOfTheInput) {
  Dnnl dnnl;
  for (const ConvShape& shape : {pointwise(5, 4, {1, 1}), pointwise(5, 4, {2, 2}), pointwise(6, 8, {2, 3}),
                                 pointwise(1, 1, {1, 1}), pointwise(4, 1, {2, 1})}) {
    const kernels::ConvWindow& window = shape;
    std::vector<float> weights(static_cast<std::size_t>(window.weights()));
    std::vector<float> dy(static_cast<std::size_t>(shape.rows * kernels::cpu::test::out_size(window)));
    std::vector<float> dx(static_cast<std::size_t>(shape.rows * kernels::cpu::test::in_size(window)), NAN);
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 17) - 8.0F;  // sums are exact
    for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i % 13) - 6.0F;
    const auto pass = make_data_as_forward_conv(ConvPassKind::kBackwardData, shape, false, dnnl);
    ASSERT_NE(pass, nullptr);
    std::vector<float> scratch(pass->scratch() / sizeof(float) + 1, NAN);
    pass->run({.weights = weights.data(), .dy = dy.data(), .dx = dx.data()}, scratch.data());
    EXPECT_EQ(kernels::cpu::test::naive_data_gradient(window, weights, dy, shape.rows),
              std::vector<double>(dx.begin(), dx.end()))
        << shape.in_h << "x" << shape.in_w;
  }
}

TEST(DataAsForwardConvPass, RejectsOtherShapes) {
  Dnnl dnnl;
  const auto made = [&](auto change, ConvPassKind kind = ConvPassKind::kBackwardData) {
    ConvShape shape = pointwise(6, 6, {2, 2});
    change(shape);
    return make_data_as_forward_conv(kind, shape, false, dnnl) != nullptr;
  };
  EXPECT_TRUE(made([](ConvShape&) {}));
  EXPECT_FALSE(made([](ConvShape& s) { s.kernel_h = s.kernel_w = 3, s.pad_top = s.pad_left = 1; }));
  EXPECT_FALSE(made([](ConvShape& s) { s.groups = 19, s.out_channels = 38; }));
  EXPECT_FALSE(made([](ConvShape& s) { s.pad_top = 2, ++s.out_h; }));
  EXPECT_FALSE(made([](ConvShape& s) { s.pad_bottom = 2, ++s.out_h; }));
  EXPECT_FALSE(made([](ConvShape&) {}, ConvPassKind::kForward));
  EXPECT_FALSE(made([](ConvShape&) {}, ConvPassKind::kBackwardWeights));
}

TEST(DataAsForwardConvPass, IsChosenByTheRules) {
  Dnnl dnnl;
  for (const Size2 strides : {Size2{1, 1}, Size2{2, 2}})
    EXPECT_STREQ(choose_by_rule(ConvPassKind::kBackwardData, pointwise(6, 6, strides), ConvChoice::kAuto, dnnl).name,
                 "dnnl turned");
}

}  // namespace
}  // namespace dptrain::backend::cpu
