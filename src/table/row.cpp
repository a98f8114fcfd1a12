#include "table/row.h"

#include "table/fields.h"

namespace dptrain::table {
namespace {

/// How many bytes the line end at `at` has, 0: there is none; a return at the end of text that goes on is left open.
std::size_t line_end(std::string_view text, std::size_t at, bool all, bool& open) {
  if (text[at] == '\n') return 1;
  if (text[at] != '\r') return 0;
  if (at + 1 == text.size()) open = !all;
  return at + 1 < text.size() && text[at + 1] == '\n' ? 2 : 1;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return text.substr(0, 0);
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

void append_unquoted(std::string_view field, std::string& out) {
  if (field.size() < 2 || field.front() != '"') {
    out += field;
    return;
  }
  field = field.substr(1, field.size() - 2);
  for (std::size_t quote; (quote = field.find('"')) != std::string_view::npos; field.remove_prefix(quote + 2))
    out += field.substr(0, quote + 1);
  out += field;
}

std::size_t line_size(std::string_view text) {
  bool open = false;
  for (std::size_t at = 0; at < text.size(); ++at)
    if (const std::size_t end = line_end(text, at, true, open); end > 0) return at + end;
  return text.size();
}

Row take_row(std::string_view text, char separator, bool all) {
  Row row;
  std::size_t at = 0;
  bool open = false;
  while (at < text.size()) {
    const std::size_t length = line_end(text, at, all, open);
    if (length == 0 || open) break;
    at += length;
    ++row.lines;
  }
  if (at == text.size()) {
    row.end = at;
    row.whole = all;
    return row;
  }
  for (;;) {
    std::string field;
    const bool quoted = at < text.size() && text[at] == '"';
    if (quoted) {
      for (++at;; ++at) {
        if (at >= text.size()) {
          row.sound = false;
          row.end = at;
          return row;
        }
        if (text[at] == '"') {
          if (at + 1 < text.size() && text[at + 1] == '"')
            ++at;
          else
            break;
        } else if (ends_line(text[at]) && !(text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n')) {
          ++row.lines;
        }
        field += text[at];
      }
      ++at;
    }
    const std::size_t begin = at;
    while (at < text.size() && text[at] != separator && !ends_line(text[at])) ++at;
    const std::string_view plain = text.substr(begin, at - begin);
    if (quoted ? !plain.empty() : plain.find('"') != std::string_view::npos) row.sound = false;
    if (!quoted) field = trimmed(plain);
    row.fields.push_back(std::move(field));
    if (row.fields.size() > kMostColumns) {
      row.end = at;
      row.whole = true;
      return row;
    }
    row.quoted.push_back(quoted);
    if (at < text.size() && text[at] == separator) {
      ++at;
      continue;
    }
    row.whole = all || at < text.size();
    if (at < text.size()) {
      at += line_end(text, at, all, open);
      ++row.lines;
      row.whole = !open;
    }
    row.end = at;
    return row;
  }
}

}  // namespace dptrain::table
