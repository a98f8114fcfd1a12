#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/encoders/encoder.h"

namespace dptrain::data {

/// Words by their place in a vocabulary, as Keras's StringLookup: num_oov_indices for words that were not learned, then
/// the words, the most frequent first and equally frequent ones from the last to the first of the alphabet.
struct StringLookupSpec {
  std::optional<std::int64_t> max_tokens{};  ///< with those for unknown words
  std::int64_t num_oov_indices = 1;
  std::vector<std::string> vocabulary{};  ///< in place of what the training rows have
  MissingWord missing = MissingWord::kCategory;
};

/// Whole numbers by their place in a vocabulary, as Keras's IntegerLookup: num_oov_indices for numbers that were not
/// learned, then the numbers, the most frequent first and of equally frequent ones the largest. -1 stands for unknown
/// ones and is never learned.
struct IntegerLookupSpec {
  std::optional<std::int64_t> max_tokens{};  ///< with those for unknown numbers
  std::int64_t num_oov_indices = 1;
  std::vector<std::int64_t> vocabulary{};     ///< in place of what the training rows have
  MissingWord missing = MissingWord::kError;  ///< category: unknown
};

/// Words by the remainder of their hash, as Keras's Hashing: nothing is learned, words may share a bin.
struct HashingSpec {
  std::int64_t num_bins = 0;
  std::vector<std::int64_t> salt{};  ///< none: FarmHash; a number or two: SipHash with this key
};

/// Whole numbers 0 .. num_tokens - 1 as one-hot, as Keras's CategoryEncoding; as ids they stay what they are.
struct CategoryEncodingSpec {
  std::int64_t num_tokens = 0;
};

}  // namespace dptrain::data
