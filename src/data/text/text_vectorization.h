#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/typed.h"
#include "data/text/tokens.h"

namespace dptrain::data {

/// Counts of words in texts, from which TextVectorization fits its vocabulary. One per thread; their sum does not
/// depend on which thread counts which text.
class TextCounts {
 public:
  /// `tokens` must outlive the object.
  explicit TextCounts(const Tokens& tokens) : tokens_(&tokens) {}

  void add(std::string_view text);
  void add(const TextCounts& other);

  std::int64_t texts() const { return texts_; }
  struct Word {
    std::string text;
    std::int64_t texts = 0;  ///< number of texts with the word
  };
  /// At most `most` words in Keras's order: by descending frequency, then by descending bytes. Without '' and '[UNK]'.
  std::vector<Word> vocabulary(std::optional<std::int64_t> most) const;

 private:
  struct Count {
    std::int64_t times = 0, texts = 0, last = -1;  ///< `last`: index of the last text with the word
  };
  const Tokens* tokens_;
  WordSet words_;
  std::vector<Count> counts_;
  std::int64_t texts_ = 0;
  Tokens::Scratch scratch_;
};

enum class TextOutput { kInt, kMultiHot, kCount, kTfIdf };

/// A list of words, or a file with one word per line.
struct UserVocabulary {
  std::vector<std::string> words;
  config::Path file;
  bool given() const { return !words.empty() || !file.value.empty(); }
};

/// 3: n-grams of 1 to 3 words; [1, 3]: of 1 and of 3 words.
struct NGrams {
  std::optional<std::int64_t> up_to{};
  std::vector<std::int64_t> these{};
  std::vector<std::int64_t> widths() const;
};

/// Converts texts to ids or vectors, like Keras's TextVectorization.
struct TextVectorizationSpec {
  std::optional<std::int64_t> max_tokens{};  ///< including padding and unknown words
  TextStandardize standardize = TextStandardize::kLowerAndStripPunctuation;
  TextSplit split = TextSplit::kWhitespace;
  NGrams ngrams{};
  TextOutput output_mode = TextOutput::kInt;
  std::optional<std::int64_t> output_sequence_length{};
  bool pad_to_max_tokens = false;
  UserVocabulary vocabulary{};
  std::vector<double> idf_weights{};  ///< one per word of a given vocabulary
};

}  // namespace dptrain::data

namespace dptrain::config {

template <>
struct EnumNames<data::TextStandardize> {
  static constexpr std::array names{
      std::pair{data::TextStandardize::kLowerAndStripPunctuation, "lower_and_strip_punctuation"},
      std::pair{data::TextStandardize::kLower, "lower"},
      std::pair{data::TextStandardize::kStripPunctuation, "strip_punctuation"},
      std::pair{data::TextStandardize::kNone, "none"}};
};
template <>
struct EnumNames<data::TextSplit> {
  static constexpr std::array names{std::pair{data::TextSplit::kWhitespace, "whitespace"},
                                    std::pair{data::TextSplit::kCharacter, "character"},
                                    std::pair{data::TextSplit::kNone, "none"}};
};
template <>
struct EnumNames<data::TextOutput> {
  static constexpr std::array names{
      std::pair{data::TextOutput::kInt, "int"}, std::pair{data::TextOutput::kMultiHot, "multi_hot"},
      std::pair{data::TextOutput::kCount, "count"}, std::pair{data::TextOutput::kTfIdf, "tf_idf"}};
};
template <>
struct Value<data::UserVocabulary> {
  static bool read(const Node& node, Reader& reader, data::UserVocabulary& out);
  static Node write(const data::UserVocabulary& value);
  static Node schema();
};
template <>
struct Value<data::NGrams> {
  static bool read(const Node& node, Reader& reader, data::NGrams& out);
  static Node write(const data::NGrams& value);
  static Node schema();
};

}  // namespace dptrain::config
