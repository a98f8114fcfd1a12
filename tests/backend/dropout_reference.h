#pragma once

// The elements that dropout keeps, for the tests of its layers.

#include "backend/harness.h"
#include "core/random.h"
#include "kernels/philox.h"

namespace dptrain::test {

/// The factor of one element: key (seed, stream of the draw), counter (row, element / 4, step).
inline double dropout_factor(double rate, std::int64_t row, std::int64_t element, std::uint32_t draw = 0) {
  const auto seed = static_cast<std::uint32_t>(kSeed ^ kSeed >> 32);
  const auto stream =
      static_cast<std::uint32_t>(Purpose::kDropout) + (kStreamId | draw << backend::OpContext::kDrawShift);
  const auto counter = static_cast<std::uint32_t>(kFirstRow + row);
  const kernels::PhiloxBlock words = kernels::philox4x32(
      {{counter, static_cast<std::uint32_t>(element / 4), static_cast<std::uint32_t>(kStep), 0}}, {{seed, stream}});
  return static_cast<double>(kernels::philox_uniform(words.word[element % 4])) >= rate ? 1 / (1 - rate) : 0.0;
}

}  // namespace dptrain::test
