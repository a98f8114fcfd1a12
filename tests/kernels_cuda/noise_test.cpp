#include "kernels/cuda/noise.h"

#include "kernels/cpu/noise.h"
#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(GpuNoise, EqualsTheCpu) {
  const Noise noise{.stddev = 0.4F, .seed = 17, .layer = 3, .first_row = 1000};
  for (const std::uint64_t step : {std::uint64_t{0}, (std::uint64_t{5} << 32) + 9}) {
    const StepState host{.step = static_cast<std::int64_t>(step)};
    Array<StepState> state(1);
    copy_bytes(state.data(), &host, sizeof host);
    const cpu::Noise reference{.stddev = 0.4F, .seed = 17, .layer = 3, .step = step, .first_row = 1000};
    for (const auto& [rows, width] :
         {std::pair<std::int64_t, std::int64_t>{3, 5}, {7, 64}, {2, 1027}, {5, 2}, {90, 132}}) {
      on_every_type([&, rows = rows, width = width](DType type, int offset) {
        Tensor x(type, random_floats(rows * width, 1), offset), y(type, rows * width, offset);
        const std::vector<float> values = x.read();
        std::vector<float> noisy(values.size());
        cpu::add_noise({}, DType::kF32, reference, values.data(), rows, width, noisy.data());
        const std::vector<double> expected(noisy.begin(), noisy.end());
        // Errors in the last places of the functions; in 16 bits, the rounding of the result.
        add_noise(test_launch(), type, noise, state.data(), x.data(), rows, width, y.data());
        expect_near(type, expected, y.read(), 1e-6, 3e-6);
        const std::vector<float> apart = y.read();
        add_noise(test_launch(), type, noise, state.data(), x.data(), rows, width, x.data());
        EXPECT_EQ(x.read(), apart) << "in place";
      });
    }
  }
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND
