#pragma once

// What stands for a cell that holds nothing: `missing: mean | most_frequent | error | NUMBER` of a column of numbers,
// `missing: category | most_frequent | error` of one of words.

#include <optional>

#include "config/value.h"

namespace dptrain::data {

enum class MissingNumber { kMean, kMostFrequent, kError };

struct MissingNumberRule {
  MissingNumber rule = MissingNumber::kMean;
  std::optional<double> number{};  ///< before the rule
  bool operator==(const MissingNumberRule&) const = default;
};

enum class MissingWord { kCategory, kMostFrequent, kError };

}  // namespace dptrain::data

namespace dptrain::config {

template <>
struct EnumNames<data::MissingNumber> {
  static constexpr std::array names{std::pair{data::MissingNumber::kMean, "mean"},
                                    std::pair{data::MissingNumber::kMostFrequent, "most_frequent"},
                                    std::pair{data::MissingNumber::kError, "error"}};
};
template <>
struct EnumNames<data::MissingWord> {
  static constexpr std::array names{std::pair{data::MissingWord::kCategory, "category"},
                                    std::pair{data::MissingWord::kMostFrequent, "most_frequent"},
                                    std::pair{data::MissingWord::kError, "error"}};
};
template <>
struct Value<data::MissingNumberRule> {
  static bool read(const Node& node, Reader& reader, data::MissingNumberRule& out);
  static Node write(const data::MissingNumberRule& value);
  static Node schema();
};

}  // namespace dptrain::config
