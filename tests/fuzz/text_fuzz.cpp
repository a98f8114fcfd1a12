// TextVectorization: fits to any bytes and converts them to numbers, or throws an Error. The first byte selects the
// options, NULs separate the texts. Ids stay below the limit, one thread and two give the same vocabulary, and it gives
// the same numbers after a round trip through JSON.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "config/diagnostics.h"
#include "config/family.h"
#include "config/source_text.h"
#include "core/error.h"
#include "data/encoders/encoder.h"

namespace {

using namespace dptrain;

class Texts final : public data::TrainingColumn {
 public:
  Texts(const std::vector<std::string_view>& texts, int parts) : texts_(texts), parts_(parts) {}
  std::int64_t rows() const override { return std::ssize(texts_); }
  void numbers(const std::function<void(std::span<const double>)>&) const override { __builtin_trap(); }
  std::vector<Word> words() const override { __builtin_trap(); }
  std::int64_t missing_words() const override { __builtin_trap(); }
  void texts(const std::function<void(std::string_view)>& take) const override {
    for (const std::string_view text : texts_) take(text);
  }
  int text_parts() const override { return parts_; }
  void texts_of(int part, const std::function<void(std::string_view)>& take) const override {
    for (std::size_t i = static_cast<std::size_t>(part); i < texts_.size(); i += static_cast<std::size_t>(parts_))
      take(texts_[i]);
  }

 private:
  const std::vector<std::string_view>& texts_;
  int parts_;
};

config::Typed vectorization(const std::string& options) {
  config::Diagnostics diagnostics;
  config::Reader reader(diagnostics);
  const auto text = config::SourceText::check("TextVectorization: {" + options + "}", "fuzz.yaml", "", diagnostics);
  config::Typed typed = data::encoder_family().read(config::parse_yaml(*text, diagnostics), reader);
  if (!diagnostics.ok()) __builtin_trap();
  return typed;
}

const std::vector<config::Typed>& all_vectorizations() {
  static const std::vector<config::Typed> all = [] {
    std::vector<config::Typed> made;
    for (const char* split : {"whitespace", "character", "none"})
      for (const char* standardize : {"lower_and_strip_punctuation", "lower", "strip_punctuation", "none"})
        for (const char* rest : {"output_sequence_length: 5", "output_sequence_length: 3, max_tokens: 4, ngrams: 3",
                                 "output_mode: count, ngrams: [2]", "output_mode: tf_idf",
                                 "output_mode: multi_hot, max_tokens: 7, pad_to_max_tokens: true"})
          made.push_back(vectorization(std::string("split: ") + split + ", standardize: " + standardize + ", " + rest));
    return made;
  }();
  return all;
}

/// The numbers of all texts, and the fitted state.
std::string all_of(const data::Encoder& encoder, const std::vector<std::string_view>& texts) {
  const auto& of_texts = static_cast<const data::TextEncoder&>(encoder);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(encoder.ids()));
  std::vector<float> floats(static_cast<std::size_t>(encoder.floats()));
  std::string all = encoder.fitted_state().dump();
  for (const std::string_view text : texts) {
    if (!ids.empty()) of_texts.encode_ids(text, ids.data());
    if (!floats.empty()) of_texts.encode(text, floats.data());
    for (const std::int32_t id : ids)
      if (id < 0 || id >= encoder.id_limit()) __builtin_trap();
    all.append(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(std::int32_t));
    all.append(reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float));
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::vector<config::Typed>& choices = all_vectorizations();
  const config::Typed& spec = choices[data[0] % choices.size()];
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<std::string_view> texts;
  for (std::size_t end = 0; end != std::string_view::npos; bytes.remove_prefix(std::min(bytes.size(), end + 1))) {
    end = bytes.find('\0');
    texts.push_back(bytes.substr(0, end));
    if (end == std::string_view::npos) break;
  }
  std::string outcomes[2];
  for (int parts = 1; parts <= 2; ++parts) {
    std::string& outcome = outcomes[parts - 1];
    try {
      const auto encoder = data::fit(spec, Texts(texts, parts));
      outcome = all_of(*encoder, texts);
      if (all_of(*data::restore(spec, encoder->fitted_state()), texts) != outcome) __builtin_trap();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kData) __builtin_trap();
      outcome = "an error";  // threads may report either of two texts that are not UTF-8
    }
  }
  if (outcomes[0] != outcomes[1]) __builtin_trap();
  return 0;
}
