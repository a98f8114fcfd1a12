#include "backend/emu/emu_convolution.h"

#include <gtest/gtest.h>

#include <array>

#include "core/error.h"
#include "kernels/cuda/simt.h"

namespace dptrain::test {
namespace {

struct AtOnce final : simt::Queue {
  void push(std::string_view, std::function<void()> work) override { work(); }
};

/// As cuDNN does on a GPU.
TEST(EmuConvolution, RejectsAddressesBelowTheProblemsAlignment) {
  alignas(backend::kFullAlignment) std::array<float, 8> x{}, filter{1}, y{};
  alignas(backend::kFullAlignment) std::array<std::byte, 1024> workspace{};
  AtOnce stream;
  for (const int alignment : {4, 8, backend::kFullAlignment}) {
    backend::gpu::ConvProblem problem{{.in_channels = 1, .out_channels = 1}};
    problem.alignment = alignment;
    const auto convolution = backend::emu::EmuConvolutionMaker().make(problem, {.data = true, .weights = true});
    for (std::size_t offset = 0; offset < 4; ++offset) {
      const bool fits = offset * sizeof(float) % static_cast<std::size_t>(alignment) == 0;
      const auto accepts = [&](const auto& pass) {
        try {
          pass(&x[offset]);
          return true;
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::kInternal);
          return false;
        }
      };
      EXPECT_EQ(accepts([&](float* a) {
                  convolution->forward(a, filter.data(), nullptr, y.data(), workspace.data(), &stream);
                }),
                fits);
      EXPECT_EQ(
          accepts([&](float* a) { convolution->backward_data(x.data(), a, y.data(), workspace.data(), &stream); }),
          fits);
      EXPECT_EQ(
          accepts([&](float* a) { convolution->backward_weights(x.data(), y.data(), a, workspace.data(), &stream); }),
          fits);
    }
  }
}

TEST(Parts, MultiplesAreAlignedToTheirLargestPowerOfTwo) {
  EXPECT_EQ(backend::alignment_of(3, DType::kF32), 4);
  EXPECT_EQ(backend::alignment_of(3, DType::kBf16), 2);
  EXPECT_EQ(backend::alignment_of(6, DType::kF32), 8);
  EXPECT_EQ(backend::alignment_of(64, DType::kBf16), backend::kFullAlignment);
}

}  // namespace
}  // namespace dptrain::test
