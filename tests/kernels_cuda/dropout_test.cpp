#include "kernels/cuda/dropout.h"

#include "kernels/cpu/dropout.h"
#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

Array<StepState>& state_at(std::uint64_t step, Array<StepState>& scratch) {
  const StepState state{.step = static_cast<std::int64_t>(step)};
  copy_bytes(scratch.data(), &state, sizeof state);
  return scratch;
}

TEST(GpuDropout, EqualsTheCpuBitForBit) {
  const Dropout dropout_{.rate = 0.4F, .seed = 17, .layer = 3, .first_row = 1000};
  for (const std::uint64_t step : {std::uint64_t{0}, (std::uint64_t{5} << 32) + 9}) {
    Array<StepState> scratch(1);
    const StepState* const state = state_at(step, scratch).data();
    const cpu::Dropout reference{
        .rate = dropout_.rate, .seed = dropout_.seed, .layer = dropout_.layer, .step = step, .first_row = 1000};
    for (const auto& [rows, width] :
         {std::pair<std::int64_t, std::int64_t>{3, 5}, {7, 64}, {2, 1027}, {5, 2}, {90, 132}}) {
      on_every_type([&, rows = rows, width = width](DType type, int offset) {
        Tensor x(type, random_floats(rows * width, 1), offset), y(type, rows * width, offset);
        const std::vector<float> values = x.read();
        std::vector<float> dropped(values.size());
        cpu::dropout_forward({}, DType::kF32, reference, values.data(), rows, width, dropped.data());
        // The CPU's result in float, rounded once.
        const std::vector<float> expected = Tensor(type, dropped).read();
        dropout_forward(test_launch(), type, dropout_, state, x.data(), rows, width, y.data());
        EXPECT_EQ(y.read(), expected);
        dropout_forward(test_launch(), type, dropout_, state, x.data(), rows, width, x.data());
        EXPECT_EQ(x.read(), expected) << "in place";
      });
    }
  }
}

TEST(GpuDropout, OfWholeChannelsEqualsTheCpuBitForBit) {
  const Dropout dropout_{.rate = 0.4F, .seed = 17, .layer = 3, .first_row = 1000};
  Array<StepState> scratch(1);
  const StepState* const state = state_at(9, scratch).data();
  const cpu::Dropout reference{.rate = 0.4F, .seed = 17, .layer = 3, .step = 9, .first_row = 1000};
  struct Size {
    std::int64_t rows, positions, channels;
  };
  for (const Size& s : {Size{3, 5, 7}, Size{2, 1, 64}, Size{40, 33, 16}, Size{5, 70, 1}, Size{3, 17, 24}}) {
    on_every_type([&](DType type, int offset) {
      const std::int64_t n = s.rows * s.positions * s.channels;
      Tensor x(type, random_floats(n, 1), offset), y(type, n, offset);
      const std::vector<float> values = x.read();
      std::vector<float> dropped(values.size()), factors(static_cast<std::size_t>(s.rows * s.channels));
      cpu::spatial_dropout({}, DType::kF32, reference, values.data(), s.rows, s.positions, s.channels, factors.data(),
                           dropped.data());
      const std::vector<float> expected = Tensor(type, dropped).read();
      spatial_dropout(test_launch(), type, dropout_, state, x.data(), s.rows, s.positions, s.channels, y.data());
      EXPECT_EQ(y.read(), expected);
      spatial_dropout(test_launch(), type, dropout_, state, x.data(), s.rows, s.positions, s.channels, x.data());
      EXPECT_EQ(x.read(), expected) << "in place";
    });
  }
}

TEST(GpuDropout, ReadsTheStepWhenItRuns) {
  const std::int64_t rows = 4, width = 64;
  const Dropout dropout_{.rate = 0.5F, .seed = 1, .layer = 2, .first_row = 0};
  Array<float> x(std::vector<float>(static_cast<std::size_t>(rows * width), 1.0F)), y(rows * width);
  Array<StepState> state(1);
  const auto mask = [&](std::uint64_t step) {
    dropout_forward(test_launch(), DType::kF32, dropout_, state_at(step, state).data(), x.data(), rows, width,
                    y.data());
    return y.read();
  };
  const std::vector<float> first = mask(7);
  EXPECT_NE(mask(8), first);
  EXPECT_NE(mask((std::uint64_t{1} << 32) + 7), first);
  EXPECT_EQ(mask(7), first);
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND
