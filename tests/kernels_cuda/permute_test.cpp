#include "kernels/cuda/permute.h"

#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

struct PermuteCase {
  std::vector<std::int64_t> in;
  std::vector<int> axes;
};

TEST(GpuPermute, MovesEveryElement) {
  const std::int64_t rows = 3;
  for (const PermuteCase& c :
       {PermuteCase{{5}, {0}}, PermuteCase{{4, 3, 5}, {0, 1, 2}}, PermuteCase{{4, 3, 5}, {1, 0, 2}},
        PermuteCase{{4, 3, 5}, {2, 0, 1}}, PermuteCase{{4, 3, 5}, {1, 2, 0}}, PermuteCase{{4, 3, 5}, {2, 1, 0}},
        PermuteCase{{4, 3, 16}, {1, 0, 2}}, PermuteCase{{31, 32}, {1, 0}}, PermuteCase{{32, 65}, {1, 0}},
        PermuteCase{{33, 31}, {1, 0}}, PermuteCase{{65, 33}, {1, 0}},  // around a tile of 32 x 32
        PermuteCase{{3, 40, 32, 2}, {2, 1, 3, 0}}, PermuteCase{{2, 1, 3, 1, 2, 5}, {5, 3, 0, 4, 1, 2}},
        PermuteCase{{1, 1}, {1, 0}}}) {
    on_every_type([&](DType type, int offset) {
      const Permutation permutation(c.in, c.axes);
      const std::int64_t n = rows * permutation.elements;
      const Tensor x(type, random_floats(n, 1), offset);
      const std::vector<float> from = x.read();
      std::vector<float> expected;
      for (std::int64_t i = 0; i < n; ++i) {
        std::vector<std::int64_t> index(c.in.size());
        std::int64_t rest = i;
        for (std::size_t d = c.axes.size(); d-- > 0;) {
          const auto axis = static_cast<std::size_t>(c.axes[d]);
          index[axis] = rest % c.in[axis];
          rest /= c.in[axis];
        }
        std::int64_t place = rest;  // the row
        for (std::size_t d = 0; d < c.in.size(); ++d) place = place * c.in[d] + index[d];
        expected.push_back(from[static_cast<std::size_t>(place)]);
      }
      Tensor y(type, n, offset);
      permute(test_launch(), type, permutation, x.data(), rows, y.data());
      EXPECT_EQ(y.read(), expected) << c.in.size() << " axes";
    });
  }
}

TEST(GpuPermute, RejectsInvalidPermutations) {
  EXPECT_THROW(Permutation({2, 3}, {0}), std::invalid_argument);
  EXPECT_THROW(Permutation({2, 3}, {1, 1}), std::invalid_argument);
  EXPECT_THROW(Permutation({2, 3}, {0, 2}), std::invalid_argument);
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND
