#include "kernels/cuda/elementwise.h"

#include "kernels/cuda/affine.h"
#include "kernels_cuda/support.h"
#include "support/tree_sum.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Whole packs, remainders, less than a pack, and more than one pass of the grid on one multiprocessor.
const std::vector<std::int64_t> kSizes{1, 3, 8, 37, 4099, 40000};

TEST(GpuElementwise, Fills) {
  for (const std::int64_t n : kSizes) {
    for (const int offset : {0, 1}) {
      Array<float> y(n, offset);
      fill(test_launch(), -2.5F, y.data(), n);
      EXPECT_EQ(y.read(), std::vector<float>(static_cast<std::size_t>(n), -2.5F));
    }
  }
}

TEST(GpuElementwise, AcceptsZeroElements) {
  Array<float> y(3);
  fill(test_launch(), 1.0F, y.data(), 0);
  copy(test_launch(), DType::kF32, y.data() + 1, y.data(), 0);
  EXPECT_TRUE(std::isnan(y.read()[0]));
}

TEST(GpuElementwise, CopiesAccumulatesAndScales) {
  on_every_type([](DType type, int offset) {
    for (const std::int64_t n : kSizes) {
      const Tensor x(type, random_floats(n, 1), offset);
      Tensor y(type, n, offset), sum(type, random_floats(n, 2), offset), product(type, n, offset);
      copy(test_launch(), type, x.data(), y.data(), n);
      EXPECT_EQ(y.read(), x.read());

      const std::vector<float> a = x.read(), b = sum.read();
      std::vector<double> sums, products;
      for (std::int64_t i = 0; i < n; ++i) {
        sums.push_back(at(a, i) + at(b, i));
        products.push_back(0.3 * at(a, i));
      }
      accumulate(test_launch(), type, x.data(), sum.data(), n);
      expect_near(type, sums, sum.read(), 1e-6, 1e-6);
      scale(test_launch(), type, 0.3F, x.data(), product.data(), n);
      expect_near(type, products, product.read());
    }
  });
}

TEST(GpuElementwise, CopiesToAnAddressOfAnotherAlignment) {
  for (const DType type : {DType::kF32, DType::kBf16}) {
    const Tensor x(type, random_floats(100, 3));
    Tensor y(type, 100, 3);
    copy(test_launch(), type, x.data(), y.data(), 100);
    EXPECT_EQ(y.read(), x.read());
  }
}

TEST(GpuElementwise, Casts) {
  on_every_type([](DType type, int offset) {
    for (const std::int64_t n : kSizes) {
      const std::vector<float> values = random_floats(n, 4, -300.0F, 300.0F);
      const Array<float> x(values, offset);
      const Tensor rounded(type, values, offset);
      Tensor narrow(type, n, offset);
      cast_from_float(test_launch(), x.data(), type, narrow.data(), n);
      EXPECT_EQ(narrow.read(), rounded.read());

      Array<float> wide(n, offset);
      cast_to_float(test_launch(), type, narrow.data(), wide.data(), n);
      EXPECT_EQ(wide.read(), rounded.read());
    }
  });
}

TEST(GpuElementwise, Rescales) {
  on_every_type([](DType type, int offset) {
    for (const std::int64_t n : kSizes) {
      Tensor x(type, random_floats(n, 5, 0.0F, 255.0F), offset);
      std::vector<double> expected;
      for (const float value : x.read()) expected.push_back(static_cast<double>(value) / 127.5 - 1.0);
      scale_offset(test_launch(), type, x.data(), 1.0F / 127.5F, -1.0F, x.data(), n);
      expect_near(type, expected, x.read(), 1e-6, 2e-7);
    }
  });
}

// --- Hash ---

std::uint64_t hash_of(const std::vector<float>& values, int multiprocessors = 1, int offset = 0) {
  const Array<float> x(values, offset);
  Array<std::uint64_t> partials(kHashPartials), result(1);
  hash(test_launch(multiprocessors), x.data(), x.size(), partials.data(), result.data());
  return result.read()[0];
}

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

TEST(GpuHash, SumsMixedWordsOnAnyGrid) {
  for (const std::int64_t n : {0, 1, 3, 255, 256, 257, 1027, 40001}) {
    const std::vector<float> values = random_floats(n, 6);
    std::uint64_t expected = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      std::uint32_t word;
      std::memcpy(&word, &values[static_cast<std::size_t>(i)], sizeof word);
      expected += mixed(static_cast<std::uint64_t>(i + 1) * 0x9E3779B97F4A7C15U ^ word);
    }
    expected = mixed(expected ^ static_cast<std::uint64_t>(n));
    EXPECT_EQ(hash_of(values), expected);
    EXPECT_EQ(hash_of(values, 132), expected);
    EXPECT_EQ(hash_of(values, 1, 1), expected);
  }
}

TEST(GpuHash, DependsOnBitsAndPositions) {
  const std::vector<float> values = random_floats(1000, 7);
  const std::uint64_t before = hash_of(values);
  std::vector<float> swapped = values, negative = values, longer = values;
  std::swap(swapped[3], swapped[700]);
  negative[17] = -negative[17];
  longer.push_back(0.0F);
  EXPECT_NE(hash_of(swapped), before);
  EXPECT_NE(hash_of(negative), before);
  EXPECT_NE(hash_of(longer), before);
  EXPECT_NE(hash_of({0.0F}), hash_of({-0.0F}));
}

// --- Differences ---

std::vector<float> largest_of(DType type, const std::vector<float>& x, const std::vector<float>& y, int offset = 0) {
  const Tensor a(type, x, offset), b(type, y, offset);
  Array<float> largest(std::vector<float>{0.0F, 0.0F});
  largest_difference(test_launch(), type, a.data(), b.data(), a.size(), largest.data());
  return largest.read();
}

TEST(GpuDifference, IsTheLargestOfAllElements) {
  on_every_type([](DType type, int offset) {
    for (const std::int64_t n : kSizes) {
      const std::vector<float> values = random_floats(n, 8);
      const std::vector<float> x = Tensor(type, values).read();
      float largest = 0.0F;
      for (const float value : x) largest = std::max(largest, std::abs(value));
      EXPECT_EQ(largest_of(type, x, x, offset), (std::vector<float>{0.0F, largest}));
      for (const std::int64_t place : {std::int64_t{0}, n / 2, n - 1}) {
        std::vector<float> y = x;
        y[static_cast<std::size_t>(place)] = -8.0F;
        const float difference = std::abs(x[static_cast<std::size_t>(place)] + 8.0F);
        EXPECT_EQ(largest_of(type, x, y, offset), (std::vector<float>{difference, largest})) << place << " of " << n;
      }
    }
  });
}

TEST(GpuDifference, IsNotANumberWhereAResultIsNone) {
  const float infinite = std::numeric_limits<float>::infinity();
  const std::vector<float> right(1000, 0.5F);
  std::vector<float> wrong = right;
  wrong[777] = std::nanf("");
  EXPECT_TRUE(std::isnan(largest_of(DType::kBf16, right, wrong)[0]));
  EXPECT_TRUE(std::isnan(largest_of(DType::kBf16, wrong, right)[1]));
  wrong[777] = -infinite;
  EXPECT_EQ(largest_of(DType::kF32, right, wrong)[0], infinite);
  EXPECT_TRUE(std::isnan(largest_of(DType::kF32, wrong, wrong)[0])) << "infinity - infinity";
  EXPECT_EQ(largest_of(DType::kF32, {}, {}), (std::vector<float>{0.0F, 0.0F}));
}

// --- Ranks ---

TEST(GpuSumRanks, AddsInTreeOrderWithinTheRange) {
  const std::int64_t n = 5003;
  for (const int ranks : {1, 2, 3, 4, 7, 11, 16}) {
    for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, n}, {4, 5000}, {3, 2002}, {7, 7}}) {
      std::vector<std::unique_ptr<Array<float>>> arrays;
      std::vector<std::vector<float>> values;
      RankArrays pointers{.array = {}, .ranks = ranks};
      for (int rank = 0; rank < ranks; ++rank) {
        values.push_back(random_floats(n, static_cast<std::uint32_t>(rank), -100.0F, 100.0F));
        arrays.push_back(std::make_unique<Array<float>>(values.back()));
        pointers.array[rank] = arrays.back()->data();
      }
      sum_ranks(test_launch(), pointers, begin, end);
      std::vector<float> sums(static_cast<std::size_t>(n), 0.0F);
      for (std::size_t i = 0; i < sums.size(); ++i)
        sums[i] =
            dptrain::test::tree_sum(0, ranks, [&](int rank) { return values[static_cast<std::size_t>(rank)][i]; });
      for (std::size_t rank = 0; rank < values.size(); ++rank) {
        std::vector<float> expected = values[rank];
        std::copy(sums.begin() + begin, sums.begin() + end, expected.begin() + begin);
        EXPECT_EQ(arrays[rank]->read(), expected) << "rank " << rank << " of " << ranks;
      }
    }
  }
}

TEST(GpuSumRanks, RejectsTooManyRanks) {
  EXPECT_THROW(sum_ranks(test_launch(), RankArrays{.array = {}, .ranks = kMaxRanks + 1}, 0, 1), std::invalid_argument);
  EXPECT_THROW(sum_ranks(test_launch(), RankArrays{}, 0, 1), std::invalid_argument);
}

TEST(GpuDelay, IsAKernelLikeAnyOther) { EXPECT_NO_THROW(delay(test_launch(), 10)); }

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND
