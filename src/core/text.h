#pragma once

#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dptrain {

/// The nearest candidate by edit distance (case-insensitive, a transposition counts one; at most a third of the letters
/// differ), or "". A unique candidate with the word as its beginning or capitals ("rmse") takes precedence.
std::string nearest(std::string_view word, std::span<const std::string> candidates);
/// "; did you mean 'filters'?" or "".
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

std::string join(std::span<const std::string> parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);
std::string trim(std::string_view text);
/// Parses the whole text as a number. Nothing if that fails.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && rest == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// 1068298 -> "1,068,298".
std::string with_commas(std::int64_t n);
/// Width of the longest name, at most `most`, for a table column.
std::size_t column_width(std::span<const std::string> names, std::size_t most = 24);
/// 1234567 -> "1.2 MiB".
std::string human_bytes(std::uint64_t bytes);
/// A field of comma-separated values, quoted if necessary (RFC 4180).
std::string csv_field(std::string_view text);
/// Fields by row of such a text; a line break in quotes belongs to its field. Accepts text that violates RFC 4180.
std::vector<std::vector<std::string>> csv_rows(std::string_view text);
/// Length of the well-formed UTF-8 sequence at the beginning of `text` (RFC 3629: no overlong forms, no surrogates), or
/// 0.
std::size_t utf8_length(std::string_view text) noexcept;
/// Escapes untrusted text (names in files, file names) for a terminal: control characters, C1 included, and bytes that
/// are not UTF-8, as "\x1b", "\u009b", "\n". Characters of `keep` stay.
std::string printable(std::string_view text, std::string_view keep = "");
/// Shell-style match: `*` any run, `?` one character; the rest literal.
bool glob_match(std::string_view pattern, std::string_view text);
/// Shortest decimal text that reads back as the same float or double; always with a point or an exponent if `decimal`.
std::string shortest(double value, bool decimal = false);
std::string shortest(float value);
/// A loss or metric as in Keras's progress bar: "0.2314"; below 0.001 "4.8700e-04"; from 10,000 on "679,521"; from 1e9
/// on six digits.
std::string metric_text(double value);

/// Text for XML and HTML: as by printable() with `keep`, and with & < > " as entities.
std::string xml_text(const std::string& text, std::string_view keep = "");
/// Quotes a word so that a shell reads it back unchanged.
std::string shell_quoted(const std::string& word);

// Pattern: a regular expression in ECMAScript's grammar. Only text.cpp includes <regex>, which is slow to compile.
// Immutable; any thread. std::regex recurses with the length of the text, so use it for names only.

/// An invalid regular expression, with the reason in what().
struct PatternError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Pattern {
 public:
  /// Throws PatternError.
  explicit Pattern(const std::string& expression);

  bool is_in(const std::string& text) const;
  /// Every match replaced; `with` names groups as $1.
  std::string replaced(const std::string& text, const std::string& with) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace dptrain
