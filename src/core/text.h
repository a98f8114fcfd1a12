#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dptrain {

/// The candidate nearest to `word` by edit distance (case-insensitive, a swap of neighbours counts one; at most a third
/// of the letters wrong), or "". An abbreviation comes first: the only candidate that begins with the word, or whose
/// capitals it is ("rmse" of RootMeanSquaredError).
std::string nearest(std::string_view word, std::span<const std::string> candidates);
/// "; did you mean 'filters'?" or "".
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

std::string join(std::span<const std::string> parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);
std::string trim(std::string_view text);

/// 1068298 -> "1,068,298".
std::string with_commas(std::int64_t n);
/// How wide a table's column of these names is: the longest one, but no wider than `most`.
std::size_t column_width(std::span<const std::string> names, std::size_t most = 24);
/// 1234567 -> "1.2 MiB".
std::string human_bytes(std::uint64_t bytes);
/// A field of comma-separated values, in quotes where it needs them (RFC 4180).
std::string csv_field(std::string_view text);
/// What such a text holds, row by row; a line break within quotes belongs to its field. What follows RFC 4180 no more
/// is taken as it stands.
std::vector<std::vector<std::string>> csv_rows(std::string_view text);
/// Length of the well-formed UTF-8 sequence that `text` starts with (RFC 3629: no overlong forms, no surrogates), or 0.
std::size_t utf8_length(std::string_view text) noexcept;
/// Text from elsewhere (names in files, file names) for a terminal, to which it must not give orders: control
/// characters, those of C1 included, and bytes that are not UTF-8 are written as "\x1b", "\u009b", "\n". Those of
/// `keep` stay.
std::string printable(std::string_view text, std::string_view keep = "");
/// Shell-style match: `*` any run, `?` one character; the rest literal.
bool glob_match(std::string_view pattern, std::string_view text);
/// Shortest decimal text that reads back as the same float or double; always with a point or an exponent if `decimal`.
std::string shortest(double value, bool decimal = false);
std::string shortest(float value);
/// A loss or a metric in a line for people, as Keras's bar has it: "0.2314", below 0.001 "4.8700e-04"; from 10,000 on,
/// errors of prices for example, "679,521", and from 1e9 on six digits.
std::string metric_text(double value);

/// As it stands in XML and HTML: printable but for `keep`, with & < > " written out.
std::string xml_text(const std::string& text, std::string_view keep = "");
/// A word as a shell would read it back.
std::string shell_quoted(const std::string& word);

// A regular expression in ECMAScript's grammar. <regex> takes seconds to compile wherever it is included, so it is in
// pattern.cpp alone. A Pattern does not change: any thread may search with it. The standard's engine recurses by the
// length of the text: for names, not for whole files.

/// The text is no regular expression; what() says why.
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
