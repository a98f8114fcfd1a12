#pragma once

#include <cstdint>

namespace dptrain::data {

/// Whole numbers 0 .. num_tokens - 1 as one-hot, as Keras's CategoryEncoding; as ids they stay what they are.
struct CategoryEncodingSpec {
  std::int64_t num_tokens = 0;
};

}  // namespace dptrain::data
