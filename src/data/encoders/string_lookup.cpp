#include "data/encoders/string_lookup.h"

#include <algorithm>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "data/encoders/encoder_def.h"
#include "data/encoders/farm_hash.h"

namespace dptrain::data {
namespace {

/// In Keras's order of a vocabulary; at most `most` of them, and never its word for unknown ones.
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

  static std::unique_ptr<const Encoder> learn(const StringLookupSpec& spec, const TrainingColumn& column) {
    std::vector<TrainingColumn::Word> words = column.words();
    std::optional<std::string> filler;
    if (spec.missing == MissingWord::kMostFrequent)
      if (auto first = vocabulary_of(words, 1); !first.empty()) filler = std::move(first.front());
    // A cell that holds nothing is the word "", as it is for Keras.
    if (spec.missing == MissingWord::kCategory && column.missing_words() > 0)
      words.push_back({"", column.missing_words()});
    std::optional<std::int64_t> most;
    if (spec.max_tokens) most = *spec.max_tokens - spec.num_oov_indices;
    return std::make_unique<StringLookup>(
        spec, spec.vocabulary.empty() ? vocabulary_of(std::move(words), most) : spec.vocabulary, std::move(filler));
  }
  static std::unique_ptr<const Encoder> restore(const StringLookupSpec& spec, const nlohmann::json& learned) {
    std::optional<std::string> filler;
    if (learned.contains("missing")) filler = learned.at("missing").get<std::string>();
    return std::make_unique<StringLookup>(spec, learned.at("vocabulary").get<std::vector<std::string>>(),
                                          std::move(filler));
  }

  table::ColumnType reads() const override { return table::ColumnType::kCategory; }
  std::int64_t floats() const override { return unknown_ + static_cast<std::int64_t>(words_.size()); }

  std::int32_t index(std::string_view word) const override {
    const auto found = places_.find(std::string(word));
    if (found != places_.end()) return found->second;
    if (unknown_ == 0)
      throw Error(ErrorKind::kData,
                  fmt::format("'{}' is none of the {} words that were learned, and num_oov_indices is 0",
                              printable(std::string(word)), words_.size()));
    return unknown_ == 1 ? 0 : static_cast<std::int32_t>(farm_fingerprint(word) % static_cast<std::uint64_t>(unknown_));
  }
  std::int32_t missing_index() const override {
    if (refuses_missing_) throw Error(ErrorKind::kData, "a word is missing, and `missing: error` refuses that");
    return index(filler_.value_or(""));
  }
  bool is_unknown(std::int32_t index) const override { return index < unknown_; }
  /// Several indices for unknown words are chosen by a hash, which nobody else has.
  std::optional<exporting::PreparedColumn> prepared(const std::string& column) const override {
    if (unknown_ > 1) return std::nullopt;
    exporting::LookUpWord look{.words = {}, .unknown = {}, .missing = {}, .count = floats()};
    for (const std::string& word : words_) look.words.emplace_back(word, places_.at(word));
    if (unknown_ == 1) look.unknown = 0;
    const auto filled = places_.find(filler_.value_or(""));
    if (!refuses_missing_) look.missing = filled == places_.end() ? look.unknown : filled->second;
    return exporting::PreparedColumn{column, std::move(look)};
  }
  std::string describe() const override {
    return fmt::format("{}{}", counted(words_.size(), "word"),
                       unknown_ == 0 ? "" : fmt::format(" and {} for unknown ones", unknown_));
  }
  nlohmann::json learned() const override {
    nlohmann::json learned{{"vocabulary", words_}};
    if (filler_) learned["missing"] = *filler_;
    return learned;
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
        .key(key("max_tokens", &StringLookupSpec::max_tokens)
                 .at_least(1)
                 .doc("the most frequent words, and those for unknown ones"))
        .key(key("num_oov_indices", &StringLookupSpec::num_oov_indices)
                 .at_least(0)
                 .at_most(1'000'000)
                 .doc("for words that training had not"))
        .key(key("vocabulary", &StringLookupSpec::vocabulary).doc("in place of the words of the training rows"))
        .key(key("missing", &StringLookupSpec::missing).doc("value for an empty cell")));

}  // namespace
}  // namespace dptrain::data
