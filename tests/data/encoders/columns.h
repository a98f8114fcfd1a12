#pragma once

// Columns in vectors, and encoders of YAML that are fitted to them.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/family.h"
#include "config/source_text.h"
#include "data/encoders/encoder.h"
#include "data/fixtures.h"

namespace dptrain::data {

inline config::Typed read_encoder(const std::string& yaml, config::Diagnostics& diagnostics) {
  config::Reader reader(diagnostics);
  const auto text = config::SourceText::check(yaml, "test.yaml", "", diagnostics);
  return encoder_family().read(config::parse_yaml(*text, diagnostics), reader);
}

inline config::Typed encoder(const std::string& yaml) {
  config::Diagnostics diagnostics;
  config::Typed typed = read_encoder(yaml, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.render(ErrorKind::kUsage);
  return typed;
}

/// The error about an encoder's arguments, or "".
inline std::string error_about(const std::string& yaml) {
  config::Diagnostics diagnostics;
  read_encoder(yaml, diagnostics);
  return diagnostics.ok() ? "" : diagnostics.render(ErrorKind::kUsage);
}

struct Texts {
  std::vector<std::string> all;
};

class Column final : public TrainingColumn {
 public:
  explicit Column(std::vector<double> numbers) : numbers_(std::move(numbers)) {}
  explicit Column(std::vector<Word> words, std::int64_t missing = 0) : words_(std::move(words)), missing_(missing) {}
  explicit Column(Texts texts, int parts = 1) : texts_(std::move(texts.all)), parts_(parts) {}

  std::int64_t rows() const override { return static_cast<std::int64_t>(numbers_.size()); }
  void numbers(const std::function<void(std::span<const double>)>& take) const override {
    const std::span<const double> all(numbers_);
    take(all.first(all.size() / 2));  // in blocks
    take(all.subspan(all.size() / 2));
  }
  std::vector<Word> words() const override { return words_; }
  std::int64_t missing_words() const override { return missing_; }
  void texts(const std::function<void(std::string_view)>& take) const override {
    for (int part = 0; part < parts_; ++part) texts_of(part, take);
  }
  int text_parts() const override { return parts_; }
  void texts_of(int part, const std::function<void(std::string_view)>& take) const override {
    for (std::size_t i = static_cast<std::size_t>(part); i < texts_.size(); i += static_cast<std::size_t>(parts_))
      take(texts_[i]);
  }

 private:
  std::vector<double> numbers_;
  std::vector<Word> words_;
  std::vector<std::string> texts_;
  std::int64_t missing_ = 0;
  int parts_ = 1;
};

/// The fitted encoder, restored from its checkpoint state.
inline std::unique_ptr<const Encoder> fitted_encoder(const std::string& yaml, const Column& column) {
  const config::Typed spec = encoder(yaml);
  return restore(spec, nlohmann::json::parse(fit(spec, column)->fitted_state().dump()));
}

}  // namespace dptrain::data
