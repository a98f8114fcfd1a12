#include "kernels/cpu/reduce.h"

#include <gtest/gtest.h>

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

TEST(SumRanks, AddsInRankOrderAndWritesEveryArray) {
  const int64_t n = kPieceElements + 203;
  for (const int ranks : {1, 2, 3, 7}) {
    for (const auto& range : {std::pair<int64_t, int64_t>{0, n}, {5, 5}, {3, 20}, {17, n - 1}}) {
      const int64_t begin = range.first, end = range.second;
      std::vector<std::vector<float>> inputs;
      for (int rank = 0; rank < ranks; ++rank) inputs.push_back(test::random_floats(n, static_cast<uint32_t>(rank)));
      std::vector<float> sums = inputs[0];
      for (int rank = 1; rank < ranks; ++rank)
        for (size_t i = 0; i < sums.size(); ++i) sums[i] += inputs[static_cast<size_t>(rank)][i];

      test::on_every_target([&] {
        for (const int threads : {1, 3}) {
          test::use_threads(threads);
          std::vector<std::vector<float>> arrays = inputs;
          std::vector<float*> pointers;
          for (std::vector<float>& array : arrays) pointers.push_back(array.data());
          sum_ranks(pointers.data(), ranks, begin, end);
          for (size_t rank = 0; rank < arrays.size(); ++rank)
            for (int64_t i = 0; i < n; ++i) {
              const size_t at = static_cast<size_t>(i);
              ASSERT_EQ(arrays[rank][at], i >= begin && i < end ? sums[at] : inputs[rank][at]) << rank << ", " << i;
            }
        }
        test::use_threads(1);
      });
    }
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
