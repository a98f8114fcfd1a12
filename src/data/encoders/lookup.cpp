#include "data/encoders/lookup.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <unordered_map>

#include <farmhash.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "data/encoders/encoder_def.h"

namespace dptrain::data {
namespace {

struct SipState {
  std::uint64_t a, b, c, d;

  void round() {
    a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
    c += d, d = std::rotl(d, 16) ^ c;
    a += d, d = std::rotl(d, 21) ^ a;
    c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
  }
  void take(std::uint64_t piece) {
    d ^= piece;
    round(), round();
    a ^= piece;
  }
};

/// FarmHash Fingerprint64, as in tf.strings.to_hash_bucket_fast before the modulo.
std::uint64_t farm_fingerprint(std::string_view word) { return util::Fingerprint64(word.data(), word.size()); }

/// SipHash-2-4 with the key (low, high), as in tf.strings.to_hash_bucket_strong before the modulo.
std::uint64_t sip_hash(std::string_view word, std::uint64_t low, std::uint64_t high) {
  SipState state{low ^ 0x736f6d6570736575, high ^ 0x646f72616e646f6d, low ^ 0x6c7967656e657261,
                 high ^ 0x7465646279746573};
  const std::size_t whole = word.size() / 8 * 8;
  std::uint64_t piece = 0;
  for (std::size_t at = 0; at < whole; at += 8) {
    std::memcpy(&piece, word.data() + at, 8);
    state.take(piece);
  }
  piece = 0;
  std::memcpy(&piece, word.data() + whole, word.size() - whole);
  state.take(piece | static_cast<std::uint64_t>(word.size() & 0xFF) << 56);
  state.c ^= 0xFF;
  for (int i = 0; i < 4; ++i) state.round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

/// Entries in the order of a Keras vocabulary: at most `most`, without `unknown`. `counts`: (count, entry).
template <class T, class Counted>
std::vector<T> vocabulary_of(std::vector<std::pair<std::int64_t, Counted>> counts, const Counted& unknown,
                             std::optional<std::int64_t> most) {
  std::erase_if(counts, [&](const auto& counted) { return counted.second == unknown; });
  std::ranges::sort(counts, std::greater());
  if (most && std::cmp_less(*most, counts.size()))
    counts.resize(static_cast<std::size_t>(std::max<std::int64_t>(*most, 0)));
  std::vector<T> vocabulary;
  for (const auto& [count, entry] : counts) vocabulary.emplace_back(entry);
  return vocabulary;
}

/// Largest number of entries, if it is limited.
template <class Spec>
std::optional<std::int64_t> most_entries(const Spec& spec) {
  return spec.max_tokens ? std::optional(*spec.max_tokens - spec.num_oov_indices) : std::nullopt;
}

std::string shown_entry(const std::string& word) { return fmt::format("'{}'", printable(word)); }
std::string shown_entry(std::int64_t number) { return std::to_string(number); }

/// Base class of StringLookup and IntegerLookup, whose vocabulary has entries of type T.
template <class T>
class Lookup : public WordEncoder {
 public:
  template <class Spec>
  Lookup(const Spec& spec, std::vector<T> vocabulary, std::optional<T> filler)
      : entries_(std::move(vocabulary)),
        unknown_(static_cast<std::int32_t>(spec.num_oov_indices)),
        refuses_missing_(spec.missing == MissingWord::kError),
        filler_(std::move(filler)) {
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (!places_.emplace(entries_[i], unknown_ + static_cast<std::int32_t>(i)).second)
        throw Error(ErrorKind::kData, fmt::format("the vocabulary has {} twice", shown_entry(entries_[i])));
  }

  std::int64_t floats() const final { return unknown_ + std::ssize(entries_); }
  bool is_unknown(std::int32_t index) const final { return index < unknown_; }
  nlohmann::json fitted_state() const final {
    nlohmann::json fitted_state{{"vocabulary", entries_}};
    if (filler_) fitted_state["missing"] = *filler_;
    return fitted_state;
  }

 protected:
  template <class Made, class Spec>
  static std::unique_ptr<const Encoder> restored(const Spec& spec, const nlohmann::json& fitted_state) {
    std::optional<T> filler;
    if (fitted_state.contains("missing")) filler = fitted_state.at("missing").get<T>();
    return std::make_unique<Made>(spec, fitted_state.at("vocabulary").get<std::vector<T>>(), std::move(filler));
  }
  /// Index of an entry; nullopt: unknown. Throws if there is no index for unknown entries. `kind`: "words".
  std::optional<std::int32_t> find(const T& entry, const char* kind) const {
    if (const auto found = places_.find(entry); found != places_.end()) return found->second;
    if (unknown_ == 0)
      throw Error(ErrorKind::kData, fmt::format("{} is not in the vocabulary of {} {}, and num_oov_indices is 0",
                                                shown_entry(entry), entries_.size(), kind));
    return std::nullopt;
  }
  std::string describe_as(const char* entry, const char* unknown) const {
    return fmt::format("{}{}", counted(entries_.size(), entry),
                       unknown_ == 0 ? "" : fmt::format(" and {} for unknown {}", unknown_, unknown));
  }

  std::vector<T> entries_;
  std::unordered_map<T, std::int32_t> places_;
  std::int32_t unknown_;
  bool refuses_missing_;
  std::optional<T> filler_;  ///< replaces missing entries
};

class StringLookup final : public Lookup<std::string> {
 public:
  using Lookup::Lookup;

  static std::unique_ptr<const Encoder> fit(const StringLookupSpec& spec, const TrainingColumn& column) {
    const auto vocabulary = [](std::vector<std::pair<std::int64_t, std::string_view>> counts, auto most) {
      return vocabulary_of<std::string, std::string_view>(std::move(counts), "[UNK]", most);
    };
    std::vector<std::pair<std::int64_t, std::string_view>> counts;
    for (const TrainingColumn::Word& word : column.words()) counts.emplace_back(word.count, word.text);
    std::optional<std::string> filler;
    if (spec.missing == MissingWord::kMostFrequent)
      if (auto first = vocabulary(counts, 1); !first.empty()) filler = std::move(first.front());
    // An empty cell is the word "", as in Keras.
    if (spec.missing == MissingWord::kCategory && column.missing_words() > 0)
      counts.emplace_back(column.missing_words(), "");
    return std::make_unique<StringLookup>(
        spec, spec.vocabulary.empty() ? vocabulary(std::move(counts), most_entries(spec)) : spec.vocabulary,
        std::move(filler));
  }
  static std::unique_ptr<const Encoder> restore(const StringLookupSpec& spec, const nlohmann::json& fitted_state) {
    return restored<StringLookup>(spec, fitted_state);
  }

  std::int32_t index(std::string_view word) const override {
    if (const auto found = find(std::string(word), "words")) return *found;
    return unknown_ == 1 ? 0 : static_cast<std::int32_t>(farm_fingerprint(word) % static_cast<std::uint64_t>(unknown_));
  }
  std::int32_t missing_index() const override {
    if (refuses_missing_) throw Error(ErrorKind::kData, "a word is missing, which is an error with `missing: error`");
    return index(filler_.value_or(""));
  }
  /// Not exported with several indices for unknown words: export has no hash operation.
  std::optional<formats::PreparedColumn> prepared(const std::string& column) const override {
    if (unknown_ > 1) return std::nullopt;
    formats::LookUpWord lookup{.words = {}, .unknown = {}, .missing = {}, .count = floats()};
    for (const std::string& word : entries_) lookup.words.emplace_back(word, places_.at(word));
    if (unknown_ == 1) lookup.unknown = 0;
    const auto filled = places_.find(filler_.value_or(""));
    if (!refuses_missing_) lookup.missing = filled == places_.end() ? lookup.unknown : filled->second;
    return formats::PreparedColumn{column, std::move(lookup)};
  }
  std::string describe() const override { return describe_as("word", "words"); }
};

const RegisteredEncoder kStringLookup = encoder_def<StringLookupSpec, StringLookup>(
    table::ColumnType::kCategory,
    config::Schema::of<StringLookupSpec>("StringLookup")
        .doc("any field -> one-hot vector, or the index in the vocabulary for an Input of `dtype: int32`; the default "
             "for columns of words")
        .key(key("max_tokens", &StringLookupSpec::max_tokens)
                 .at_least(1)
                 .doc("largest number of indices, including those for unknown words: the most frequent words; default: "
                      "all words"))
        .key(key("num_oov_indices", &StringLookupSpec::num_oov_indices)
                 .at_least(0)
                 .at_most(1'000'000)
                 .doc("number of indices for unknown words"))
        .key(key("vocabulary", &StringLookupSpec::vocabulary).doc("list of words; default: those of the training rows"))
        .key(key("missing", &StringLookupSpec::missing)
                 .doc("value of an empty cell; category: the word ''; error: an empty cell is an error")));

constexpr std::int64_t kKerasUnknown = -1;  // oov_token

/// Parses an integer. "7", "+7", "007" and "7.00" are the same number.
std::int64_t whole_number(std::string_view word) {
  std::string_view digits = word.starts_with('+') ? word.substr(1) : word;
  if (const std::size_t point = digits.find('.'); point != std::string_view::npos && point > 0 &&
                                                  digits.find_first_not_of('0', point + 1) == std::string_view::npos)
    digits = digits.substr(0, point);
  const auto number = parse_number<std::int64_t>(digits);
  if (!number || (word.starts_with('+') && digits.starts_with('-')))
    throw Error(ErrorKind::kData,
                fmt::format("'{}' is not a 64-bit integer, which IntegerLookup needs; use StringLookup for words",
                            printable(word)));
  return *number;
}

class IntegerLookup final : public Lookup<std::int64_t> {
 public:
  using Lookup::Lookup;

  static std::unique_ptr<const Encoder> fit(const IntegerLookupSpec& spec, const TrainingColumn& column) {
    std::map<std::int64_t, std::int64_t> counts;
    for (const TrainingColumn::Word& word : column.words()) counts[whole_number(word.text)] += word.count;
    const auto vocabulary = [&counts](std::optional<std::int64_t> most) {
      std::vector<std::pair<std::int64_t, std::int64_t>> order;
      for (const auto& [number, count] : counts) order.emplace_back(count, number);
      return vocabulary_of<std::int64_t>(std::move(order), kKerasUnknown, most);
    };
    std::optional<std::int64_t> filler;
    if (spec.missing == MissingWord::kMostFrequent)
      if (const auto first = vocabulary(1); !first.empty()) filler = first.front();
    return std::make_unique<IntegerLookup>(
        spec, spec.vocabulary.empty() ? vocabulary(most_entries(spec)) : spec.vocabulary, filler);
  }
  static std::unique_ptr<const Encoder> restore(const IntegerLookupSpec& spec, const nlohmann::json& fitted_state) {
    return restored<IntegerLookup>(spec, fitted_state);
  }

  std::int32_t index(std::string_view word) const override { return index(whole_number(word)); }
  std::int32_t missing_index() const override {
    if (filler_) return index(*filler_);
    if (refuses_missing_)
      throw Error(
          ErrorKind::kData,
          "a number is missing, which is an error with `missing: error`; `missing: category` makes it an unknown one");
    return index(kKerasUnknown);
  }
  std::optional<formats::PreparedColumn> prepared(const std::string& column) const override {
    if (unknown_ > 1) return std::nullopt;
    formats::LookUpWord lookup{.words = {}, .unknown = {}, .missing = {}, .count = floats()};
    for (const std::int64_t number : entries_)  // tables contain 7, or 7.0 in a column with missing cells
      for (const char* const end : {"", ".0"})
        lookup.words.emplace_back(std::to_string(number) + end, places_.at(number));
    if (unknown_ == 1) lookup.unknown = 0;
    if (const auto filled = places_.find(filler_.value_or(kKerasUnknown)); filled != places_.end())
      lookup.missing = filled->second;
    else if (filler_ || !refuses_missing_)
      lookup.missing = lookup.unknown;
    return formats::PreparedColumn{column, std::move(lookup)};
  }
  std::string describe() const override { return describe_as("whole number", "numbers"); }

 private:
  std::int32_t index(std::int64_t number) const {
    if (const auto found = find(number, "numbers")) return *found;
    const std::int64_t rest = number % unknown_;
    return static_cast<std::int32_t>(rest < 0 ? rest + unknown_ : rest);
  }
};

const RegisteredEncoder kIntegerLookup = encoder_def<IntegerLookupSpec, IntegerLookup>(
    table::ColumnType::kCategory,
    config::Schema::of<IntegerLookupSpec>("IntegerLookup")
        .doc(
            "whole number -> one-hot vector or index, as `StringLookup`; -1 is unknown unless `vocabulary` contains it")
        .key(key("max_tokens", &IntegerLookupSpec::max_tokens)
                 .at_least(2)
                 .doc("largest number of indices, including those for unknown numbers: the most frequent numbers; "
                      "default: all numbers"))
        .key(key("num_oov_indices", &IntegerLookupSpec::num_oov_indices)
                 .at_least(0)
                 .at_most(1'000'000)
                 .doc("number of indices for unknown numbers"))
        .key(key("vocabulary", &IntegerLookupSpec::vocabulary)
                 .doc("list of whole numbers; default: those of the training rows"))
        .key(key("missing", &IntegerLookupSpec::missing)
                 .doc("value of an empty cell; category: an unknown number; error: an empty cell is an error")));

class Hashing final : public WordEncoder {
 public:
  explicit Hashing(const HashingSpec& spec) : spec_(spec) {}

  std::int64_t floats() const override { return spec_.num_bins; }

  std::int32_t index(std::string_view word) const override {
    const std::uint64_t hash = spec_.salt.empty() ? farm_fingerprint(word)
                                                  : sip_hash(word, static_cast<std::uint64_t>(spec_.salt.front()),
                                                             static_cast<std::uint64_t>(spec_.salt.back()));
    return static_cast<std::int32_t>(hash % static_cast<std::uint64_t>(spec_.num_bins));
  }
  /// An empty cell is the word "", as in Keras.
  std::int32_t missing_index() const override { return index(""); }
  bool is_unknown(std::int32_t) const override { return false; }
  std::string describe() const override { return fmt::format("hashed to {} bins", spec_.num_bins); }

 private:
  HashingSpec spec_;
};

const RegisteredEncoder kHashing = encoder_def<HashingSpec, Hashing>(
    table::ColumnType::kCategory,
    config::Schema::of<HashingSpec>("Hashing")
        .doc("any field -> one-hot vector of a bin, or the index of the bin for an Input of `dtype: int32`; the bin is "
             "FarmHash modulo `num_bins`")
        .positional(
            key("num_bins", &HashingSpec::num_bins).required().at_least(1).at_most(1'000'000'000).doc("number of bins"))
        .key(key("salt", &HashingSpec::salt)
                 .check([](const std::vector<std::int64_t>& salt) {
                   return salt.size() <= 2 ? "" : "must be a number or a list of two";
                 })
                 .doc("one or two numbers: key of SipHash, which replaces FarmHash; default: FarmHash")));

class CategoryEncoding final : public NumberEncoder {
 public:
  explicit CategoryEncoding(const CategoryEncodingSpec& spec) : count_(spec.num_tokens) {}

  std::int64_t floats() const override { return count_; }
  std::int64_t ids() const override { return 1; }
  std::int64_t id_limit() const override { return count_; }
  void encode(double number, float* out) const override {
    const std::int32_t which = token(number);
    std::fill_n(out, count_, 0.0F);
    out[which] = 1;
  }
  void encode_ids(double number, std::int32_t* out) const override { *out = token(number); }
  std::optional<formats::PreparedColumn> prepared(const std::string& column) const override {
    return formats::PreparedColumn{column, formats::TakeToken{count_}};
  }
  std::string describe() const override { return fmt::format("one of {}", count_); }

 private:
  std::int32_t token(double number) const {
    if (number >= 0 && number < static_cast<double>(count_) && number == std::floor(number))
      return static_cast<std::int32_t>(number);
    throw Error(ErrorKind::kData,
                fmt::format("{}, but CategoryEncoding needs whole numbers from 0 to {}; use IntegerLookup for others",
                            std::isnan(number) ? "a number is missing" : "found " + shortest(number), count_ - 1));
  }
  std::int64_t count_;
};

const RegisteredEncoder kCategoryEncoding = encoder_def<CategoryEncodingSpec, CategoryEncoding>(
    table::ColumnType::kNumber,
    config::Schema::of<CategoryEncodingSpec>("CategoryEncoding")
        .doc("whole number from 0 -> one-hot vector, or unchanged for an Input of `dtype: int32`")
        .positional(key("num_tokens", &CategoryEncodingSpec::num_tokens)
                        .required()
                        .at_least(1)
                        .at_most(16'777'216)
                        .doc("number of categories; all numbers are below it")));

}  // namespace
}  // namespace dptrain::data
