#include "core/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <numeric>
#include <regex>
#include <utility>

#include "core/format.h"

namespace dptrain {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Number of insertions, deletions, substitutions and transpositions between two words.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, above(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  const auto equal = [&](std::size_t i, std::size_t j) { return lower(a[i]) == lower(b[j]); };
  for (std::size_t i = 0; i < a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({above[j] + (equal(i, j) ? 0 : 1), row[j] + 1, above[j + 1] + 1});
      if (i > 0 && j > 0 && equal(i, j - 1) && equal(i - 1, j)) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

template <class T>
std::string shortest_text(T value) {
  std::array<char, 40> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), result.ptr};
}

/// "RMSE" of "RootMeanSquaredError".
std::string capitals(std::string_view name) {
  std::string found;
  std::ranges::copy_if(name, std::back_inserter(found), [](char c) { return c >= 'A' && c <= 'Z'; });
  return found;
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

/// The only candidate that begins with the word or has it as its capitals; "" if there is none, more than one, or a
/// candidate equal to the word except for case.
std::string abbreviated(std::string_view word, std::span<const std::string> candidates) {
  std::string found;
  if (word.size() < 2 || std::ranges::any_of(candidates, [&](const auto& one) { return same_letters(one, word); }))
    return found;  // nearest() finds it
  for (const std::string& candidate : candidates) {
    const bool begins =
        word.size() < candidate.size() && same_letters(word, std::string_view(candidate).substr(0, word.size()));
    if (!begins && !same_letters(word, capitals(candidate))) continue;
    if (!found.empty() && !same_letters(found, candidate)) return "";
    found = candidate;
  }
  return found;
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  if (std::string found = abbreviated(word, candidates); !found.empty()) return found;
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    const auto begins_alike = [&](std::string_view other) { return !word.empty() && other.starts_with(word.front()); };
    const bool nearer = distance == best_distance && !best.empty() && begins_alike(candidate) && !begins_alike(best);
    if (distance < best_distance || nearer) {  // 'accuracy', not 'Accuracy', for 'acuracy'
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string best = nearest(word, candidates);
  return best.empty() ? "" : fmt::format("; did you mean '{}'?", best);
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

std::size_t column_width(std::span<const std::string> names, std::size_t most) {
  std::size_t width = 0;
  for (const std::string& name : names)  // bytes that begin a character
    width = std::max(width, static_cast<std::size_t>(std::ranges::count_if(
                                name, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; })));
  return std::min(width, most);
}

std::string with_commas(std::int64_t n) {
  std::string digits = std::to_string(n);
  const std::ptrdiff_t first = n < 0 ? 1 : 0;
  for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > first; i -= 3)
    digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] != '*' && pattern[p] == text[t]))) {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string shortest(double value, bool decimal) {
  std::string text = shortest_text(value);
  if (decimal && text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string shortest(float value) { return shortest_text(value); }

std::string metric_text(double value) {
  const double size = std::abs(value);
  if (size >= 1e4) return size < 1e9 ? with_commas(std::llround(value)) : fmt::format("{:.6g}", value);
  return size > 0 && size < 1e-3 ? fmt::format("{:.4e}", value) : fmt::format("{:.4f}", value);
}

std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4 || !continues(1)) return 0;
  if (first < 0xE0) return 2;
  if (!continues(2)) return 0;
  if (first < 0xF0) return (first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) ? 0 : 3;
  return !continues(3) || (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F) ? 0 : 4;
}

std::string printable(std::string_view text, std::string_view keep) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t length = utf8_length(text.substr(i));
    const bool c1 = length == 2 && c == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (c1)
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(text[i + 1]));
    else if (length > 1 || (length == 1 && c >= 0x20 && c != 0x7F) || keep.find(text[i]) != std::string_view::npos)
      out += text.substr(i, std::max<std::size_t>(length, 1));
    else if (c == '\n')
      out += "\\n";
    else
      out += fmt::format("\\x{:02x}", c);
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string shell_quoted(const std::string& word) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::vector<std::vector<std::string>> csv_rows(std::string_view text) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row;
  std::string field;
  bool quoted = false, begun = false;
  const auto end_row = [&] {
    if (!field.empty() && field.back() == '\r' && !quoted) field.pop_back();
    row.push_back(std::move(field));
    rows.push_back(std::move(row));
    field = {};
    row = {};
    begun = false;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    begun = true;
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"')
      field += text[++i];
    else if (c == '"' && (quoted || field.empty()))
      quoted = !quoted;
    else if (c == ',' && !quoted)
      row.push_back(std::exchange(field, {}));
    else if (c == '\n' && !quoted)
      end_row();
    else
      field += c;
  }
  if (begun) end_row();
  return rows;
}

std::string xml_text(const std::string& text, std::string_view keep) {
  std::string out;
  for (const char c : printable(text, keep)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

struct Pattern::Compiled {
  std::regex regex;
};

Pattern::Pattern(const std::string& expression) try
    : compiled_(std::make_shared<const Compiled>(Compiled{std::regex(expression)})) {
} catch (const std::regex_error& error) {
  throw PatternError(error.what());
}

bool Pattern::is_in(const std::string& text) const { return std::regex_search(text, compiled_->regex); }

std::string Pattern::replaced(const std::string& text, const std::string& with) const {
  return std::regex_replace(text, compiled_->regex, with);
}

}  // namespace dptrain
