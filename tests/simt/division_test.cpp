// Division of indices in kernels: in 32 bits if they fit.

#include <gtest/gtest.h>

#include <vector>

#include "kernels/cuda/lanes.h"

namespace dptrain::kernels::emu {
namespace {

/// Numbers around every power of two up to the largest, where a wrong width or sign changes the result.
std::vector<std::int64_t> edges() {
  std::vector<std::int64_t> numbers{0};
  for (int bit = 0; bit < 63; ++bit)
    for (const std::int64_t off : {-1, 0, 1}) numbers.push_back((std::int64_t{1} << bit) + off);
  numbers.push_back(INT64_MAX - 1);
  numbers.push_back(INT64_MAX);
  return numbers;
}

TEST(Division, Equals64BitsAtEveryEdge) {
  const std::vector<std::int64_t> numbers = edges();
  for (const std::int64_t index : numbers)
    for (const std::int64_t extent : numbers) {
      if (index < 0 || extent <= 0) continue;
      const Split found = split(index, extent);
      ASSERT_EQ(found.quotient, index / extent) << index << " / " << extent;
      ASSERT_EQ(found.remainder, index % extent) << index << " / " << extent;
    }
}

TEST(Division, Equals64BitsAtMultiples) {
  for (const std::int64_t extent :
       {1L, 2L, 3L, 7L, 255L, 65537L, 0x7FFFFFFFL, 0xFFFFFFFFL, 0x100000000L, 0x123456789AL})
    for (const std::int64_t times : {0L, 1L, 2L, 1000L, 0x10000L, 0x7FFFFFL})
      for (const std::int64_t off : {-1L, 0L, 1L}) {
        const std::int64_t index = extent * times + off;
        if (index < 0) continue;
        const Split found = split(index, extent);
        ASSERT_EQ(found.quotient, index / extent) << index << " / " << extent;
        ASSERT_EQ(found.remainder, index % extent) << index << " / " << extent;
      }
}

}  // namespace
}  // namespace dptrain::kernels::emu
