#include "data/encoders/lookup.h"

#include <algorithm>
#include <bit>
#include <charconv>
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

/// Words in the order of a Keras vocabulary: at most `most`, without "[UNK]".
std::vector<std::string> vocabulary_of(std::vector<TrainingColumn::Word> words, std::optional<std::int64_t> most) {
  std::erase_if(words, [](const TrainingColumn::Word& word) { return word.text == "[UNK]"; });
  std::ranges::sort(words, [](const TrainingColumn::Word& a, const TrainingColumn::Word& b) {
    return a.count != b.count ? a.count > b.count : a.text > b.text;
  });
  if (most && std::cmp_less(*most, words.size()))
    words.resize(static_cast<std::size_t>(std::max<std::int64_t>(*most, 0)));
  std::vector<std::string> vocabulary;
  for (const TrainingColumn::Word& word : words) vocabulary.emplace_back(word.text);
  return vocabulary;
}

class StringLookup final : public WordEncoder {
 public:
  StringLookup(const StringLookupSpec& spec, std::vector<std::string> vocabulary, std::optional<std::string> filler)
      : words_(std::move(vocabulary)),
        unknown_(static_cast<std::int32_t>(spec.num_oov_indices)),
        refuses_missing_(spec.missing == MissingWord::kError),
        filler_(std::move(filler)) {
    for (std::size_t i = 0; i < words_.size(); ++i)
      if (!places_.emplace(words_[i], unknown_ + static_cast<std::int32_t>(i)).second)
        throw Error(ErrorKind::kData, fmt::format("the vocabulary has '{}' twice", printable(words_[i])));
  }

  static std::unique_ptr<const Encoder> fit(const StringLookupSpec& spec, const TrainingColumn& column) {
    std::vector<TrainingColumn::Word> words = column.words();
    std::optional<std::string> filler;
    if (spec.missing == MissingWord::kMaxFrequent)
      if (auto first = vocabulary_of(words, 1); !first.empty()) filler = std::move(first.front());
    // An empty cell is the word "", as in Keras.
    if (spec.missing == MissingWord::kCategory && column.missing_words() > 0)
      words.push_back({"", column.missing_words()});
    std::optional<std::int64_t> most;
    if (spec.max_tokens) most = *spec.max_tokens - spec.num_oov_indices;
    return std::make_unique<StringLookup>(
        spec, spec.vocabulary.empty() ? vocabulary_of(std::move(words), most) : spec.vocabulary, std::move(filler));
  }
  static std::unique_ptr<const Encoder> restore(const StringLookupSpec& spec, const nlohmann::json& fitted_state) {
    std::optional<std::string> filler;
    if (fitted_state.contains("missing")) filler = fitted_state.at("missing").get<std::string>();
    return std::make_unique<StringLookup>(spec, fitted_state.at("vocabulary").get<std::vector<std::string>>(),
                                          std::move(filler));
  }

  table::ColumnType reads() const override { return table::ColumnType::kCategory; }
  std::int64_t floats() const override { return unknown_ + static_cast<std::int64_t>(words_.size()); }

  std::int32_t index(std::string_view word) const override {
    const auto found = places_.find(std::string(word));
    if (found != places_.end()) return found->second;
    if (unknown_ == 0)
      throw Error(ErrorKind::kData, fmt::format("'{}' is not in the vocabulary of {} words, and num_oov_indices is 0",
                                                printable(std::string(word)), words_.size()));
    return unknown_ == 1 ? 0 : static_cast<std::int32_t>(farm_fingerprint(word) % static_cast<std::uint64_t>(unknown_));
  }
  std::int32_t missing_index() const override {
    if (refuses_missing_) throw Error(ErrorKind::kData, "a word is missing, which is an error with `missing: error`");
    return index(filler_.value_or(""));
  }
  bool is_unknown(std::int32_t index) const override { return index < unknown_; }
  /// Not exported with several indices for unknown words: export has no hash operation.
  std::optional<formats::PreparedColumn> prepared(const std::string& column) const override {
    if (unknown_ > 1) return std::nullopt;
    formats::LookUpWord lookup{.words = {}, .unknown = {}, .missing = {}, .count = floats()};
    for (const std::string& word : words_) lookup.words.emplace_back(word, places_.at(word));
    if (unknown_ == 1) lookup.unknown = 0;
    const auto filled = places_.find(filler_.value_or(""));
    if (!refuses_missing_) lookup.missing = filled == places_.end() ? lookup.unknown : filled->second;
    return formats::PreparedColumn{column, std::move(lookup)};
  }
  std::string describe() const override {
    return fmt::format("{}{}", counted(words_.size(), "word"),
                       unknown_ == 0 ? "" : fmt::format(" and {} for unknown words", unknown_));
  }
  nlohmann::json fitted_state() const override {
    nlohmann::json fitted_state{{"vocabulary", words_}};
    if (filler_) fitted_state["missing"] = *filler_;
    return fitted_state;
  }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::int32_t> places_;
  std::int32_t unknown_;
  bool refuses_missing_;
  std::optional<std::string> filler_;
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
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() ||
      (word.starts_with('+') && digits.starts_with('-')))
    throw Error(ErrorKind::kData,
                fmt::format("'{}' is not a 64-bit integer, which IntegerLookup needs; use StringLookup for words",
                            printable(word)));
  return number;
}

using Counts = std::map<std::int64_t, std::int64_t>;

/// Numbers in the order of a Keras vocabulary: at most `most`, without -1.
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

  static std::unique_ptr<const Encoder> fit(const IntegerLookupSpec& spec, const TrainingColumn& column) {
    Counts counts;
    for (const TrainingColumn::Word& word : column.words()) counts[whole_number(word.text)] += word.count;
    std::optional<std::int64_t> filler, most;
    if (spec.missing == MissingWord::kMaxFrequent)
      if (const auto first = numbers_of(counts, 1); !first.empty()) filler = first.front();
    if (spec.max_tokens) most = *spec.max_tokens - spec.num_oov_indices;
    return std::make_unique<IntegerLookup>(spec, spec.vocabulary.empty() ? numbers_of(counts, most) : spec.vocabulary,
                                           filler);
  }
  static std::unique_ptr<const Encoder> restore(const IntegerLookupSpec& spec, const nlohmann::json& fitted_state) {
    std::optional<std::int64_t> filler;
    if (fitted_state.contains("missing")) filler = fitted_state.at("missing").get<std::int64_t>();
    return std::make_unique<IntegerLookup>(spec, fitted_state.at("vocabulary").get<std::vector<std::int64_t>>(),
                                           filler);
  }

  table::ColumnType reads() const override { return table::ColumnType::kCategory; }
  std::int64_t floats() const override { return unknown_ + static_cast<std::int64_t>(numbers_.size()); }

  std::int32_t index(std::string_view word) const override { return index(whole_number(word)); }
  std::int32_t missing_index() const override {
    if (filler_) return index(*filler_);
    if (missing_ == MissingWord::kError)
      throw Error(
          ErrorKind::kData,
          "a number is missing, which is an error with `missing: error`; `missing: category` makes it an unknown one");
    return index(kKerasUnknown);
  }
  bool is_unknown(std::int32_t index) const override { return index < unknown_; }
  std::optional<formats::PreparedColumn> prepared(const std::string& column) const override {
    if (unknown_ > 1) return std::nullopt;
    formats::LookUpWord lookup{.words = {}, .unknown = {}, .missing = {}, .count = floats()};
    for (const std::int64_t number : numbers_)  // tables contain 7, or 7.0 in a column with missing cells
      for (const char* const end : {"", ".0"})
        lookup.words.emplace_back(std::to_string(number) + end, places_.at(number));
    if (unknown_ == 1) lookup.unknown = 0;
    if (const auto filled = places_.find(filler_.value_or(kKerasUnknown)); filled != places_.end())
      lookup.missing = filled->second;
    else if (filler_ || missing_ != MissingWord::kError)
      lookup.missing = lookup.unknown;
    return formats::PreparedColumn{column, std::move(lookup)};
  }
  std::string describe() const override {
    return fmt::format("{}{}", counted(numbers_.size(), "whole number"),
                       unknown_ == 0 ? "" : fmt::format(" and {} for unknown numbers", unknown_));
  }
  nlohmann::json fitted_state() const override {
    nlohmann::json fitted_state{{"vocabulary", numbers_}};
    if (filler_) fitted_state["missing"] = *filler_;
    return fitted_state;
  }

 private:
  std::int32_t index(std::int64_t number) const {
    if (const auto found = places_.find(number); found != places_.end()) return found->second;
    if (unknown_ == 0)
      throw Error(ErrorKind::kData, fmt::format("{} is not in the vocabulary of {} numbers, and num_oov_indices is 0",
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
  static std::unique_ptr<const Encoder> fit(const HashingSpec& spec, const TrainingColumn&) {
    return std::make_unique<Hashing>(spec);
  }
  static std::unique_ptr<const Encoder> restore(const HashingSpec& spec, const nlohmann::json&) {
    return std::make_unique<Hashing>(spec);
  }

  table::ColumnType reads() const override { return table::ColumnType::kCategory; }
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
  nlohmann::json fitted_state() const override { return nlohmann::json::object(); }

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
  explicit CategoryEncoding(std::int64_t count) : count_(count) {}
  static std::unique_ptr<const Encoder> fit(const CategoryEncodingSpec& spec, const TrainingColumn&) {
    return std::make_unique<CategoryEncoding>(spec.num_tokens);
  }
  static std::unique_ptr<const Encoder> restore(const CategoryEncodingSpec& spec, const nlohmann::json&) {
    return std::make_unique<CategoryEncoding>(spec.num_tokens);
  }

  table::ColumnType reads() const override { return table::ColumnType::kNumber; }
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
  nlohmann::json fitted_state() const override { return nlohmann::json::object(); }

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
