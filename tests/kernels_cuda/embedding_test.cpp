#include "kernels/cuda/embedding.h"

#include <array>

#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND::test {
namespace {

/// Sums of dy by id in float, in the order of the places. Rows without a place stay `unwritten`.
std::vector<float> sums_by_id(const std::vector<std::int32_t>& ids, const std::vector<float>& dy,
                              std::int64_t table_rows, std::int64_t width, float unwritten) {
  std::vector<float> sums(static_cast<std::size_t>(table_rows * width), unwritten);
  std::vector<bool> has_place(static_cast<std::size_t>(table_rows));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= table_rows) continue;
    for (std::int64_t c = 0; c < width; ++c) {
      float& sum = sums[static_cast<std::size_t>(ids[i] * width + c)];
      sum = (has_place[static_cast<std::size_t>(ids[i])] ? sum : 0.0F) +
            dy[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(c)];
    }
    has_place[static_cast<std::size_t>(ids[i])] = true;
  }
  return sums;
}

void expect_sums(DType type, int offset, const std::vector<std::int32_t>& of, std::int64_t table_rows,
                 std::int64_t width) {
  constexpr float kUnwritten = -7.0F;
  const auto count = static_cast<std::int64_t>(of.size());
  const Array<std::int32_t> ids(of);
  const Tensor dy(type, random_floats(count * width, 5), offset);
  Array<std::uint64_t> workspace(static_cast<std::int64_t>((scatter_rows_workspace(count) + 7) / 8));
  Array<float> gradient(std::vector<float>(static_cast<std::size_t>(table_rows * width), kUnwritten), offset);
  scatter_rows(test_launch(), type, ids.data(), count, dy.data(), table_rows, width, workspace.data(), gradient.data());
  ASSERT_EQ(gradient.read(), sums_by_id(of, dy.read(), table_rows, width, kUnwritten));
  workspace.read();
}

/// Around the sizes of a warp, of its places and of a block's.
constexpr std::array<std::int64_t, 15> kCounts{1,    2,    31,   32,   33,   255,  256, 257,
                                               1023, 1024, 1025, 2047, 2048, 2049, 5000};

/// Ids 0 to words - 1 in an irregular order, the last place with the largest.
std::vector<std::int32_t> mixed_ids(std::int64_t count, std::int64_t words) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<std::int32_t>(i * i * 2654435761 % 1000003 % words));
  ids.back() = static_cast<std::int32_t>(words - 1);
  return ids;
}

TEST(ScatterRows, SumsHaveTheBitsOfAscendingPlaces) {
  for (const std::int64_t count : kCounts) {
    SCOPED_TRACE(count);
    for (const std::int64_t words : {1, 7, 255, 256}) {  // with ids outside the table, 256 rows need two digits
      SCOPED_TRACE(words);
      expect_sums(DType::kF32, 0, mixed_ids(count, words), words, 3);
    }
  }
}

TEST(ScatterRows, OfEveryType) {
  on_every_type([](DType type, int offset) { expect_sums(type, offset, mixed_ids(300, 40), 40, 5); });
}

TEST(ScatterRows, OfATableWithThreeDigits) {
  const std::int64_t words = 70000;
  std::vector<std::int32_t> ids = mixed_ids(2100, words);
  for (std::size_t i = 0; i < ids.size(); i += 3) ids[i] = static_cast<std::int32_t>(65536 + i % 4 * 256);
  expect_sums(DType::kF32, 0, ids, words, 1);
}

TEST(ScatterRows, OneRunOfAllPlaces) {
  for (const std::int64_t count : kCounts) {
    SCOPED_TRACE(count);
    expect_sums(DType::kF32, 0, std::vector<std::int32_t>(static_cast<std::size_t>(count), 4), 6, 2);
  }
}

/// Runs around the number of gradients that a thread loads at once.
TEST(ScatterRows, RunsOfEveryLength) {
  std::vector<std::int32_t> ids;
  for (std::int32_t id = 0; id < 20; ++id) ids.insert(ids.end(), static_cast<std::size_t>(id + 1), 19 - id);
  expect_sums(DType::kF32, 0, ids, 20, 4);
}

TEST(ScatterRows, IdsOutsideTheTableAddNothing) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t count : kCounts) {
    SCOPED_TRACE(count);
    std::vector<std::int32_t> ids = mixed_ids(count, 9);
    const std::array<std::int32_t, 4> outside{-1, 9, kMost, -kMost - 1};
    for (std::size_t i = 0; i < ids.size(); i += 2) ids[i] = outside[i / 2 % outside.size()];
    expect_sums(DType::kF32, 0, ids, 9, 2);
  }
  expect_sums(DType::kF32, 0, {-1, 5, 6}, 5, 2);
}

TEST(ScatterRows, WorkspaceGrowsWithPlaces) {
  for (std::int64_t count = 1; count < 10000; ++count)
    ASSERT_LE(scatter_rows_workspace(count - 1), scatter_rows_workspace(count)) << count;
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND::test
