#pragma once

#include <cstdint>
#include <vector>

namespace dptrain::data {

/// Words by the remainder of their hash, as Keras's Hashing: nothing is learned, words may share a bin.
struct HashingSpec {
  std::int64_t num_bins = 0;
  std::vector<std::int64_t> salt{};  ///< none: FarmHash; a number or two: SipHash with this key
};

}  // namespace dptrain::data
