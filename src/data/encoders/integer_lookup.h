#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/encoders/missing.h"

namespace dptrain::data {

/// Whole numbers by their place in a vocabulary, as Keras's IntegerLookup: num_oov_indices for numbers that were not
/// learned, then the numbers, the most frequent first and of equally frequent ones the largest. -1 stands for unknown
/// ones and is never learned.
struct IntegerLookupSpec {
  std::optional<std::int64_t> max_tokens{};  ///< with those for unknown numbers
  std::int64_t num_oov_indices = 1;
  std::vector<std::int64_t> vocabulary{};     ///< in place of what the training rows have
  MissingWord missing = MissingWord::kError;  ///< category: unknown
};

}  // namespace dptrain::data
