#include "kernels/cuda/prelu.h"

#include <numeric>

#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using Extents = std::vector<std::int64_t>;

std::int64_t product(const Extents& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

struct PreluCase {
  Extents sample, alpha;
  std::int64_t rows;

  std::int64_t alpha_at(std::int64_t index) const {
    std::int64_t place = 0, step = 1;
    for (std::size_t d = sample.size(); d-- > 0; index /= sample[d]) {
      place += (alpha[d] == 1 ? 0 : index % sample[d]) * step;
      step *= alpha[d];
    }
    return place;
  }
};

TEST(GpuPRelu, ValuesAndGradients) {
  for (const PreluCase& c :
       {PreluCase{{5}, {5}, 3}, PreluCase{{5}, {1}, 3}, PreluCase{{4, 3, 16}, {1, 1, 16}, 3},
        PreluCase{{40, 30, 3}, {1, 1, 3}, 9}, PreluCase{{6, 8}, {6, 8}, 70}, PreluCase{{3, 4, 8}, {3, 1, 1}, 5},
        PreluCase{{3, 4, 8}, {1, 4, 1}, 2}, PreluCase{{3, 4, 8}, {3, 1, 8}, 2}, PreluCase{{50, 40}, {1, 1}, 6},
        PreluCase{{2, 3, 2, 3, 2, 3}, {1, 3, 1, 3, 1, 3}, 2}, PreluCase{{1, 1}, {1, 1}, 4},
        // Around a tile of 32 alphas and 128 terms.
        PreluCase{{127, 31}, {1, 31}, 1}, PreluCase{{128, 32}, {1, 32}, 1}, PreluCase{{129, 33}, {1, 33}, 1},
        PreluCase{{257, 65}, {1, 65}, 1}}) {
    on_every_type([&](DType type, int offset) {
      const PRelu prelu(c.sample, c.alpha);
      const std::int64_t n = c.rows * product(c.sample), alphas = product(c.alpha);
      ASSERT_EQ(prelu.alphas, alphas);
      std::vector<float> drawn = random_floats(n, 1);
      drawn[static_cast<std::size_t>(n / 2)] = 0.0F;
      const Tensor x(type, drawn, offset), dy(type, random_floats(n, 2), offset);
      const Array<float> alpha(random_floats(alphas, 3), offset);
      const std::vector<float> values = x.read(), g = dy.read(), slopes = alpha.read();
      std::vector<double> expected, gradient, sums(static_cast<std::size_t>(alphas));
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t place = c.alpha_at(i % product(c.sample));
        const double v = at(values, i), slope = at(slopes, place);
        expected.push_back(v > 0 ? v : slope * v);
        gradient.push_back(v > 0 ? at(g, i) : v < 0 ? slope * at(g, i) : 0.0);
        sums[static_cast<std::size_t>(place)] += v < 0 ? v * at(g, i) : 0.0;
      }
      Tensor y(type, n, offset), dx(type, n, offset);
      prelu_forward(test_launch(), type, prelu, x.data(), alpha.data(), c.rows, y.data());
      expect_near(type, expected, y.read());
      prelu_input_gradient(test_launch(), type, prelu, x.data(), dy.data(), alpha.data(), c.rows, dx.data());
      expect_near(type, gradient, dx.read());
      Array<float> workspace(prelu_workspace(prelu, c.rows)), dalpha(alphas);
      prelu_alpha_gradient(test_launch(), type, prelu, x.data(), dy.data(), c.rows, workspace.data(), dalpha.data());
      expect_near(DType::kF32, sums, dalpha.read(), 1e-5, 1e-3);  // sums of products that cancel
      workspace.read();
    });
  }
}

TEST(GpuPRelu, WorkspaceNeverShrinksWithMoreRows) {
  for (const PreluCase& c :
       {PreluCase{{40, 30, 3}, {1, 1, 3}, 0}, PreluCase{{7, 5}, {7, 5}, 0}, PreluCase{{50, 40}, {1, 1}, 0}}) {
    const PRelu prelu(c.sample, c.alpha);
    for (std::int64_t rows = 1; rows < 300; ++rows)
      EXPECT_LE(prelu_workspace(prelu, rows), prelu_workspace(prelu, rows + 1)) << rows;
  }
}

TEST(GpuPRelu, RejectsShapesThatDoNotFit) {
  EXPECT_THROW(PRelu({2, 3}, {2}), std::invalid_argument);
  EXPECT_THROW(PRelu({2, 3}, {2, 2}), std::invalid_argument);
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND
