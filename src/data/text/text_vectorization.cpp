#include "data/text/text_vectorization.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <fstream>
#include <numeric>
#include <thread>

#include <nlohmann/json.hpp>

#include "config/json_fragment.h"
#include "core/activity.h"
#include "core/error.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "data/encoders/encoder_def.h"

namespace dptrain::data {

void TextCounts::add(std::string_view text) {
  tokens_->each(text, scratch_, [this](const char* word, std::size_t size) {
    const auto place = static_cast<std::size_t>(words_.add(word, size));
    if (place == counts_.size()) counts_.emplace_back();
    Count& count = counts_[place];
    ++count.times;
    if (count.last != texts_) count.last = texts_, ++count.texts;
    return true;
  });
  ++texts_;
}

void TextCounts::add(const TextCounts& other) {
  for (std::int64_t i = 0; i < other.words_.size(); ++i) {
    const auto place = static_cast<std::size_t>(words_.add(other.words_.word(i)));
    if (place == counts_.size()) counts_.emplace_back();
    counts_[place].times += other.counts_[static_cast<std::size_t>(i)].times;
    counts_[place].texts += other.counts_[static_cast<std::size_t>(i)].texts;
  }
  texts_ += other.texts_;
  for (Count& count : counts_) count.last = -1;
}

std::vector<TextCounts::Word> TextCounts::vocabulary(std::optional<std::int64_t> most) const {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < words_.size(); ++i)
    if (!words_.word(i).empty() && words_.word(i) != "[UNK]") order.push_back(i);
  std::ranges::sort(order, [this](std::int64_t a, std::int64_t b) {
    const std::int64_t of_a = counts_[static_cast<std::size_t>(a)].times;
    const std::int64_t of_b = counts_[static_cast<std::size_t>(b)].times;
    return of_a != of_b ? of_a > of_b : words_.word(a) > words_.word(b);
  });
  if (most && std::cmp_less(*most, order.size())) order.resize(static_cast<std::size_t>(*most));
  std::vector<Word> vocabulary;
  for (const std::int64_t i : order)
    vocabulary.push_back({std::string(words_.word(i)), counts_[static_cast<std::size_t>(i)].texts});
  return vocabulary;
}

namespace {

constexpr const char* kUnknownWord = "[UNK]";

/// Number of ids before the first word: unknown words, and padding in the mode int.
std::int64_t first_id(const TextVectorizationSpec& spec) { return spec.output_mode == TextOutput::kInt ? 2 : 1; }

Tokens tokens_of(const TextVectorizationSpec& spec) { return {spec.standardize, spec.split, spec.ngrams.widths()}; }

/// Counts all texts of the column, with one thread per part.
TextCounts count_words(const Tokens& tokens, const TrainingColumn& column) {
  Activity activity("counting words", column.rows());
  const auto parts = static_cast<std::size_t>(column.text_parts());
  std::vector<TextCounts> counts(parts, TextCounts(tokens));
  std::vector<std::exception_ptr> errors(parts);
  const auto count = [&](std::size_t part) {
    try {
      column.texts_of(static_cast<int>(part), [&](std::string_view text) {
        counts[part].add(text);
        activity.advance();
      });
    } catch (...) {
      errors[part] = std::current_exception();
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t part = 1; part < parts; ++part) threads.emplace_back(count, part);
  count(0);
  threads.clear();
  for (const std::exception_ptr& error : errors)  // rethrow the error of the first part
    if (error) std::rethrow_exception(error);
  for (std::size_t part = 1; part < parts; ++part) counts[0].add(counts[part]);
  return std::move(counts[0]);
}

std::vector<std::string> words_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorKind::kData, path + ": the vocabulary cannot be read");
  std::vector<std::string> words;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    words.push_back(std::move(line));
  }
  return words;
}

/// The vocabulary without the leading words for padding and unknown words that Keras's get_vocabulary() returns.
struct StrippedVocabulary {
  std::vector<std::string> words;
  bool had_special = false;
};
StrippedVocabulary stripped_vocabulary(const TextVectorizationSpec& spec) {
  StrippedVocabulary given{.words = spec.vocabulary.file.value.empty() ? spec.vocabulary.words
                                                                       : words_of_file(spec.vocabulary.file.value)};
  const std::vector<std::string> special =
      first_id(spec) == 2 ? std::vector<std::string>{"", kUnknownWord} : std::vector<std::string>{kUnknownWord};
  given.had_special =
      given.words.size() >= special.size() && std::equal(special.begin(), special.end(), given.words.begin());
  if (given.had_special)
    given.words.erase(given.words.begin(), given.words.begin() + static_cast<std::ptrdiff_t>(special.size()));
  const std::string place = spec.vocabulary.file.value.empty() ? "" : spec.vocabulary.file.value + ": ";
  for (std::size_t i = 0; i < given.words.size(); ++i) {
    if (given.words[i].empty())
      throw Error(
          ErrorKind::kData,
          fmt::format("{}word {} of the vocabulary is '', which is reserved for padding; remove it", place, i + 1));
    try {
      check_utf8(given.words[i]);
    } catch (const Error& error) {
      throw error.within(fmt::format("{}word {} of the vocabulary", place, i + 1));
    }
  }
  const std::int64_t all = first_id(spec) + static_cast<std::int64_t>(given.words.size());
  if (spec.max_tokens && all > *spec.max_tokens)
    throw Error(ErrorKind::kData, fmt::format("{}the vocabulary has {} words, including padding and unknown words, but "
                                              "max_tokens allows {}",
                                              place, all, *spec.max_tokens));
  return given;
}

/// One weight per index, without the indices that pad_to_max_tokens adds.
std::vector<float> given_weights(const TextVectorizationSpec& spec, const StrippedVocabulary& given) {
  const std::size_t wanted = given.words.size() + (given.had_special ? 1 : 0);
  if (spec.idf_weights.size() != wanted)
    throw Error(ErrorKind::kData,
                fmt::format("idf_weights has {} numbers, the vocabulary {} words", spec.idf_weights.size(), wanted));
  std::vector<float> weights(spec.idf_weights.begin(), spec.idf_weights.end());
  if (!given.had_special) {
    double sum = 0;
    for (const double weight : spec.idf_weights) sum += weight;
    weights.insert(weights.begin(), static_cast<float>(sum / static_cast<double>(wanted)));
  }
  return weights;
}

/// log(1 + texts / (1 + texts with the word)), preceded by their mean for unknown words.
std::vector<float> fitted_idf_weights(const std::vector<TextCounts::Word>& words, std::int64_t texts) {
  std::vector<float> weights{0};
  double sum = 0;
  for (const TextCounts::Word& word : words) {
    weights.push_back(
        static_cast<float>(std::log(1 + static_cast<double>(texts) / static_cast<double>(1 + word.texts))));
    sum += static_cast<double>(weights.back());
  }
  weights.front() = static_cast<float>(sum / static_cast<double>(words.size()));
  return weights;
}

class TextVectorization final : public TextEncoder {
 public:
  TextVectorization(const TextVectorizationSpec& spec, const std::vector<std::string>& vocabulary,
                    std::vector<float> weights)
      : tokens_(tokens_of(spec)),
        mode_(spec.output_mode),
        first_(static_cast<std::int32_t>(first_id(spec))),
        length_(spec.output_sequence_length.value_or(0)),
        weights_(std::move(weights)) {
    for (const std::string& word : vocabulary)
      if (const std::int64_t before = words_.size(); words_.add(std::string_view(word)) != before)
        throw Error(ErrorKind::kData, fmt::format("the vocabulary has '{}' twice", printable(word)));
    width_ = spec.pad_to_max_tokens && spec.max_tokens ? *spec.max_tokens : first_ + words_.size();
    if (mode_ == TextOutput::kTfIdf) {
      if (std::cmp_not_equal(weights_.size(), first_ + words_.size()))
        throw Error(ErrorKind::kCheckpoint, "a vocabulary and its idf weights have different lengths");
      weights_.resize(static_cast<std::size_t>(width_));
    }
  }

  static std::unique_ptr<const Encoder> fit(const TextVectorizationSpec& spec, const TrainingColumn& column) {
    if (spec.vocabulary.given()) {
      const StrippedVocabulary given = stripped_vocabulary(spec);
      return std::make_unique<TextVectorization>(
          spec, given.words,
          spec.output_mode == TextOutput::kTfIdf ? given_weights(spec, given) : std::vector<float>{});
    }
    const Tokens tokens = tokens_of(spec);
    const TextCounts counts = count_words(tokens, column);
    std::optional<std::int64_t> most;
    if (spec.max_tokens) most = std::max<std::int64_t>(*spec.max_tokens - first_id(spec), 0);
    const std::vector<TextCounts::Word> found = counts.vocabulary(most);
    if (found.empty())
      throw Error(ErrorKind::kData, fmt::format("the {} texts contain no words", with_commas(counts.texts())));
    std::vector<std::string> words;
    for (const TextCounts::Word& word : found) words.push_back(word.text);
    return std::make_unique<TextVectorization>(
        spec, words,
        spec.output_mode == TextOutput::kTfIdf ? fitted_idf_weights(found, counts.texts()) : std::vector<float>{});
  }
  static std::unique_ptr<const Encoder> restore(const TextVectorizationSpec& spec, const nlohmann::json& fitted_state) {
    return std::make_unique<TextVectorization>(spec, fitted_state.at("vocabulary").get<std::vector<std::string>>(),
                                               fitted_state.value("idf_weights", std::vector<float>{}));
  }

  std::int64_t floats() const override { return mode_ == TextOutput::kInt ? 0 : width_; }
  std::int64_t ids() const override { return mode_ == TextOutput::kInt ? length_ : 0; }
  std::int64_t id_limit() const override { return first_ + words_.size(); }

  void encode(std::string_view text, float* out) const override {
    std::fill_n(out, width_, 0.0F);
    tokens_.each(text, scratch(), [&](const char* word, std::size_t size) {
      if (size == 0) return true;  // padding is not counted
      float& count = out[id(word, size)];
      count = mode_ == TextOutput::kMultiHot ? 1.0F : count + 1.0F;
      return true;
    });
    if (mode_ == TextOutput::kTfIdf)
      for (std::size_t i = 0; i < weights_.size(); ++i) out[i] *= weights_[i];
  }
  void encode_ids(std::string_view text, std::int32_t* out) const override {
    std::int64_t count = 0;
    tokens_.each(text, scratch(), [&](const char* word, std::size_t size) {
      out[count] = size == 0 ? 0 : id(word, size);
      return ++count < length_;
    });
    std::fill(out + count, out + length_, 0);
  }

  std::string describe() const override {
    return fmt::format("{}{} and 1 for unknown words", counted(words_.size(), "word"),
                       first_ == 2 ? ", 1 for padding" : "");
  }
  nlohmann::json fitted_state() const override {
    std::vector<std::string> words;
    for (std::int64_t i = 0; i < words_.size(); ++i) words.emplace_back(words_.word(i));
    nlohmann::json fitted_state{{"vocabulary", std::move(words)}};
    if (mode_ == TextOutput::kTfIdf)
      fitted_state["idf_weights"] = std::vector<float>(weights_.begin(), weights_.begin() + first_ + words_.size());
    return fitted_state;
  }

 private:
  std::int32_t id(const char* word, std::size_t size) const {
    // find() returns -1 for unknown words, whose id is one before that of the first word.
    return first_ + words_.find(word, size);
  }
  static Tokens::Scratch& scratch() {
    thread_local Tokens::Scratch scratch;
    return scratch;
  }

  Tokens tokens_;
  WordSet words_;
  TextOutput mode_;
  std::int32_t first_;
  std::int64_t length_, width_ = 0;
  std::vector<float> weights_;
};

std::string check_vectorization(const TextVectorizationSpec& spec) {
  const bool ints = spec.output_mode == TextOutput::kInt;
  if (ints && !spec.output_sequence_length)
    return "output_sequence_length is missing: shapes are fixed here, so ids need the number of words that a text is "
           "cut or padded to, as in {output_sequence_length: 200}; or write output_mode: multi_hot, count or tf_idf";
  if (!ints && spec.output_sequence_length) return "output_sequence_length needs output_mode: int";
  if (spec.pad_to_max_tokens && (ints || !spec.max_tokens))
    return "pad_to_max_tokens needs max_tokens and an output_mode other than int";
  const bool weighs = spec.output_mode == TextOutput::kTfIdf;
  if (!spec.idf_weights.empty() && (!weighs || !spec.vocabulary.given()))
    return "idf_weights needs output_mode: tf_idf and a vocabulary";
  if (weighs && spec.vocabulary.given() && spec.idf_weights.empty())
    return "idf_weights is missing: with output_mode: tf_idf a given vocabulary needs a weight for each word";
  return "";
}

const RegisteredEncoder kTextVectorization = encoder_def<TextVectorizationSpec, TextVectorization>(
    table::ColumnType::kText,
    config::Schema::of<TextVectorizationSpec>("TextVectorization")
        .doc("any field -> ids or floats, as Keras's layer; for columns of texts and the data set `Text`")
        .key(key("max_tokens", &TextVectorizationSpec::max_tokens)
                 .at_least(2)
                 .at_most(1'000'000'000)
                 .doc("largest vocabulary, including padding and unknown words: the most frequent words; default: all "
                      "words"))
        .key(key("standardize", &TextVectorizationSpec::standardize)
                 .doc("how a text is changed before it is split; ASCII only, as in Keras"))
        .key(key("split", &TextVectorizationSpec::split).doc("how a text is split"))
        .key(key("ngrams", &TextVectorizationSpec::ngrams)
                 .doc("3: sequences of 1 to 3 words; [2, 3]: of these lengths; default: words"))
        .key(key("output_mode", &TextVectorizationSpec::output_mode)
                 .doc("int: ids for `Embedding`, 0 for padding and 1 for unknown words; multi_hot, count, tf_idf: a "
                      "float per word, the first for unknown words"))
        .key(key("output_sequence_length", &TextVectorizationSpec::output_sequence_length)
                 .at_least(1)
                 .at_most(100'000'000)
                 .doc("ids of a text, which is truncated or padded; required with `output_mode: int`"))
        .key(key("pad_to_max_tokens", &TextVectorizationSpec::pad_to_max_tokens)
                 .doc("whether a text becomes as many floats as `max_tokens`, with zeros if the vocabulary is smaller; "
                      "not with `output_mode: int`"))
        .key(key("vocabulary", &TextVectorizationSpec::vocabulary)
                 .doc("a list of words, or a file with a word per line, such as that of `get_vocabulary()`; default: "
                      "fitted to the training rows"))
        .key(key("idf_weights", &TextVectorizationSpec::idf_weights)
                 .doc("one for each word; required with `output_mode: tf_idf` and `vocabulary`; default: fitted to the "
                      "training rows"))
        .rule<TextVectorizationSpec>(check_vectorization));

}  // namespace

std::vector<std::int64_t> NGrams::widths() const {
  if (!up_to) return these;
  std::vector<std::int64_t> all(static_cast<std::size_t>(*up_to));
  std::iota(all.begin(), all.end(), 1);
  return all;
}

}  // namespace dptrain::data

namespace dptrain::config {

bool Value<data::UserVocabulary>::read(const Node& node, Reader& reader, data::UserVocabulary& out) {
  out = {};
  const Node found = reader.substituted(node);
  if (found.is_scalar()) return Value<Path>::read(found, reader, out.file);
  return Value<std::vector<std::string>>::read(found, reader, out.words);
}

Node Value<data::UserVocabulary>::write(const data::UserVocabulary& value) {
  return value.file.value.empty() ? Value<std::vector<std::string>>::write(value.words)
                                  : Value<Path>::write(value.file);
}

Node Value<data::UserVocabulary>::schema() { return Value<std::vector<std::string>>::schema(); }

bool Value<data::NGrams>::read(const Node& node, Reader& reader, data::NGrams& out) {
  out = {};
  const Node found = reader.substituted(node);
  if (found.is_scalar()) {
    std::int64_t up_to = 0;
    if (!Value<std::int64_t>::read(found, reader, up_to)) return false;
    out.up_to = up_to;
  } else if (!Value<std::vector<std::int64_t>>::read(found, reader, out.these)) {
    return false;
  }
  constexpr std::int64_t kMax = 100;
  if (out.up_to && *out.up_to >= 1 && *out.up_to <= kMax) return true;
  bool good = !out.up_to;
  for (const std::int64_t width : out.these) good = good && width >= 1 && width <= kMax;
  if (!good) reader.expected(found, "a number of words from 1 to 100, or a list of them");
  return good;
}

Node Value<data::NGrams>::write(const data::NGrams& value) {
  return value.up_to ? Node::integer(*value.up_to) : Value<std::vector<std::int64_t>>::write(value.these);
}

Node Value<data::NGrams>::schema() { return Value<std::vector<std::int64_t>>::schema(); }

}  // namespace dptrain::config
