#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/encoders/encoder.h"

namespace dptrain::data {

/// Maps words to their index in a vocabulary, as in Keras's StringLookup. The first num_oov_indices are for unknown
/// words. The words follow by descending frequency, then in descending alphabetical order.
struct StringLookupSpec {
  std::optional<std::int64_t> max_tokens{};  ///< including the indices for unknown words
  std::int64_t num_oov_indices = 1;
  std::vector<std::string> vocabulary{};  ///< replaces the words of the training rows
  MissingWord missing = MissingWord::kCategory;
};

/// Maps integers to their index in a vocabulary, as in Keras's IntegerLookup. The first num_oov_indices are for unknown
/// integers. The integers follow by descending frequency, then by descending value. -1 is the out-of-vocabulary token,
/// which fitting skips.
struct IntegerLookupSpec {
  std::optional<std::int64_t> max_tokens{};  ///< including the indices for unknown numbers
  std::int64_t num_oov_indices = 1;
  std::vector<std::int64_t> vocabulary{};     ///< replaces the numbers of the training rows
  MissingWord missing = MissingWord::kError;  ///< kCategory: a missing number is unknown
};

/// Maps a word to its hash modulo num_bins, as in Keras's Hashing. Nothing is fitted. Words may share a bin.
struct HashingSpec {
  std::int64_t num_bins = 0;
  std::vector<std::int64_t> salt{};  ///< empty: FarmHash; one or two numbers: SipHash with this key
};

/// One-hot vectors of integers 0 .. num_tokens - 1, as in Keras's CategoryEncoding. Inputs of ids take the integers.
struct CategoryEncodingSpec {
  std::int64_t num_tokens = 0;
};

}  // namespace dptrain::data
