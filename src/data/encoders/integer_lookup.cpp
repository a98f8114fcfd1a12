#include "data/encoders/integer_lookup.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/encoders/encoder_def.h"

namespace dptrain::data {
namespace {

constexpr std::int64_t kKerasUnknown = -1;  // oov_token

/// "7", "+7", "007" and "7.00" are one number.
std::int64_t whole_number(std::string_view word) {
  std::string_view digits = word.starts_with('+') ? word.substr(1) : word;
  if (const std::size_t point = digits.find('.'); point != std::string_view::npos && point > 0 &&
                                                  digits.find_first_not_of('0', point + 1) == std::string_view::npos)
    digits = digits.substr(0, point);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() ||
      (word.starts_with('+') && digits.starts_with('-')))
    throw Error(ErrorKind::kData,
                fmt::format("'{}' is no whole number of 64 bits, which IntegerLookup reads; StringLookup reads words",
                            printable(word)));
  return number;
}

using Counts = std::map<std::int64_t, std::int64_t>;

/// In Keras's order of a vocabulary; at most `most` of them.
std::vector<std::int64_t> numbers_of(const Counts& counts, std::optional<std::int64_t> most) {
  std::vector<std::pair<std::int64_t, std::int64_t>> order;
  for (const auto& [number, count] : counts)
    if (number != kKerasUnknown) order.emplace_back(count, number);
  std::ranges::sort(order, std::greater());
  if (most && std::cmp_less(*most, order.size()))
    order.resize(static_cast<std::size_t>(std::max<std::int64_t>(*most, 0)));
  std::vector<std::int64_t> numbers;
  for (const auto& [count, number] : order) numbers.push_back(number);
  return numbers;
}

class IntegerLookup final : public WordEncoder {
 public:
  IntegerLookup(const IntegerLookupSpec& spec, std::vector<std::int64_t> vocabulary, std::optional<std::int64_t> filler)
      : numbers_(std::move(vocabulary)),
        unknown_(static_cast<std::int32_t>(spec.num_oov_indices)),
        missing_(spec.missing),
        filler_(filler) {
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      if (!places_.emplace(numbers_[i], unknown_ + static_cast<std::int32_t>(i)).second)
        throw Error(ErrorKind::kData, fmt::format("the vocabulary has {} twice", numbers_[i]));
  }

  static std::unique_ptr<const Encoder> learn(const IntegerLookupSpec& spec, const TrainingColumn& column) {
    Counts counts;
    for (const TrainingColumn::Word& word : column.words()) counts[whole_number(word.text)] += word.count;
    std::optional<std::int64_t> filler, most;
    if (spec.missing == MissingWord::kMostFrequent)
      if (const auto first = numbers_of(counts, 1); !first.empty()) filler = first.front();
    if (spec.max_tokens) most = *spec.max_tokens - spec.num_oov_indices;
    return std::make_unique<IntegerLookup>(spec, spec.vocabulary.empty() ? numbers_of(counts, most) : spec.vocabulary,
                                           filler);
  }
  static std::unique_ptr<const Encoder> restore(const IntegerLookupSpec& spec, const nlohmann::json& learned) {
    std::optional<std::int64_t> filler;
    if (learned.contains("missing")) filler = learned.at("missing").get<std::int64_t>();
    return std::make_unique<IntegerLookup>(spec, learned.at("vocabulary").get<std::vector<std::int64_t>>(), filler);
  }

  table::ColumnType reads() const override { return table::ColumnType::kCategory; }
  std::int64_t floats() const override { return unknown_ + static_cast<std::int64_t>(numbers_.size()); }

  std::int32_t index(std::string_view word) const override { return index(whole_number(word)); }
  std::int32_t missing_index() const override {
    if (filler_) return index(*filler_);
    if (missing_ == MissingWord::kError)
      throw Error(ErrorKind::kData,
                  "a number is missing, and `missing: error` refuses that; category makes it an unknown one");
    return index(kKerasUnknown);
  }
  bool is_unknown(std::int32_t index) const override { return index < unknown_; }
  std::optional<exporting::PreparedColumn> prepared(const std::string& column) const override {
    if (unknown_ > 1) return std::nullopt;
    exporting::LookUpWord look{.words = {}, .unknown = {}, .missing = {}, .count = floats()};
    for (const std::int64_t number : numbers_)  // as tables write them: 7, and 7.0 where another cell is missing
      for (const char* const end : {"", ".0"})
        look.words.emplace_back(std::to_string(number) + end, places_.at(number));
    if (unknown_ == 1) look.unknown = 0;
    if (const auto filled = places_.find(filler_.value_or(kKerasUnknown)); filled != places_.end())
      look.missing = filled->second;
    else if (filler_ || missing_ != MissingWord::kError)
      look.missing = look.unknown;
    return exporting::PreparedColumn{column, std::move(look)};
  }
  std::string describe() const override {
    return fmt::format("{} whole numbers{}", numbers_.size(),
                       unknown_ == 0 ? "" : fmt::format(" and {} for unknown ones", unknown_));
  }
  nlohmann::json learned() const override {
    nlohmann::json learned{{"vocabulary", numbers_}};
    if (filler_) learned["missing"] = *filler_;
    return learned;
  }

 private:
  std::int32_t index(std::int64_t number) const {
    if (const auto found = places_.find(number); found != places_.end()) return found->second;
    if (unknown_ == 0)
      throw Error(ErrorKind::kData, fmt::format("{} is none of the {} numbers that were learned, and num_oov_indices "
                                                "is 0",
                                                number, numbers_.size()));
    const std::int64_t rest = number % unknown_;
    return static_cast<std::int32_t>(rest < 0 ? rest + unknown_ : rest);
  }

  std::vector<std::int64_t> numbers_;
  std::unordered_map<std::int64_t, std::int32_t> places_;
  std::int32_t unknown_;
  MissingWord missing_;
  std::optional<std::int64_t> filler_;
};

const RegisteredEncoder kIntegerLookup = encoder_def<IntegerLookupSpec, IntegerLookup>(
    table::ColumnType::kCategory,
    config::Schema::of<IntegerLookupSpec>("IntegerLookup")
        .key(key("max_tokens", &IntegerLookupSpec::max_tokens)
                 .at_least(2)
                 .doc("largest number of entries, the most frequent ones, with that for unknown integers"))
        .key(key("num_oov_indices", &IntegerLookupSpec::num_oov_indices)
                 .at_least(0)
                 .at_most(1'000'000)
                 .doc("indices for integers that are not in the vocabulary"))
        .key(key("vocabulary", &IntegerLookupSpec::vocabulary).doc("integers in place of those of the training rows"))
        .key(key("missing", &IntegerLookupSpec::missing).doc("value for an empty cell")));

}  // namespace
}  // namespace dptrain::data
