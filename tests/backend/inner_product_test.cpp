#include "backend/cpu/inner_product.h"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

namespace dptrain::backend::cpu {
namespace {

TEST(InnerProduct, InputGradientOfFewRowsThroughLargeWeights) {
  constexpr std::int64_t kRows = 3, kIn = 2048, kUnits = 2048;
  const auto value = [](std::int64_t i) { return static_cast<float>(i * 37 % 101 - 50) / 50.0F; };
  std::vector<float> weights, dy, dx(kRows * kIn, NAN);
  for (std::int64_t i = 0; i < kIn * kUnits; ++i) weights.push_back(value(i + i / kUnits));
  for (std::int64_t i = 0; i < kRows * kUnits; ++i) dy.push_back(value(i * 7));
  Dnnl dnnl;
  InnerProduct product(kRows, kIn, kUnits, true, true, true, dnnl);
  ASSERT_THAT(product.name(), testing::HasSubstr("data rows"));
  product.backward_data(dy.data(), weights.data(), dx.data(), nullptr);
  for (std::int64_t row = 0; row < kRows; ++row)
    for (std::int64_t i = 0; i < kIn; ++i) {
      double sum = 0;
      for (std::int64_t u = 0; u < kUnits; ++u)
        sum += static_cast<double>(dy[static_cast<std::size_t>(row * kUnits + u)]) *
               static_cast<double>(weights[static_cast<std::size_t>(i * kUnits + u)]);
      // 2048 products of up to one, rounded repeatedly
      ASSERT_NEAR(dx[static_cast<std::size_t>(row * kIn + i)], sum, 1e-3) << row << ", " << i;
    }
}

TEST(InnerProduct, GradientOfLargeWeightsUsesOurKernel) {
  Dnnl dnnl;
  const auto gradient = [&](std::int64_t rows, std::int64_t width) {
    return InnerProduct(rows, width, width, true, false, true, dnnl).name();
  };
  EXPECT_THAT(gradient(8, 2048), testing::HasSubstr("weights gemm"));
  EXPECT_THAT(gradient(512, 2048), testing::HasSubstr("weights gemm"));
  EXPECT_THAT(gradient(512, 512), testing::HasSubstr("weights gemm")) << "smaller ones from many rows alone";
  EXPECT_THAT(gradient(128, 512), testing::HasSubstr("weights dnnl"));
}

}  // namespace
}  // namespace dptrain::backend::cpu
