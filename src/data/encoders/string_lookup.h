#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/encoders/missing.h"

namespace dptrain::data {

/// Words by their place in a vocabulary, as Keras's StringLookup: num_oov_indices for words that were not learned, then
/// the words, the most frequent first and equally frequent ones from the last to the first of the alphabet.
struct StringLookupSpec {
  std::optional<std::int64_t> max_tokens{};  ///< with those for unknown words
  std::int64_t num_oov_indices = 1;
  std::vector<std::string> vocabulary{};  ///< in place of what the training rows have
  MissingWord missing = MissingWord::kCategory;
};

}  // namespace dptrain::data
