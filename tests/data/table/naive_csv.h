#pragma once

// Reads RFC 4180 byte by byte; the reference for src/table/, which uses blocks, bit masks and threads.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"

namespace dptrain::data::table::test {

struct NaiveRow {
  std::vector<std::string> fields;  ///< without quotes
  std::vector<bool> quoted;
  std::size_t line = 0;  ///< from 1
};

struct NaiveFile {
  std::vector<NaiveRow> rows;
  std::vector<std::string> bad;  ///< "line:byte" of the first error in each bad row
};

inline std::string naive_place(std::string_view text, std::size_t at) {
  std::size_t line = 1, column = 1;
  for (std::size_t i = 0; i < at; ++i) {
    const bool ends = text[i] == '\n' || (text[i] == '\r' && !(i + 1 < text.size() && text[i + 1] == '\n'));
    if (ends) {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  return std::to_string(line) + ":" + std::to_string(column);
}

/// `count`: fields that a row must have.
inline NaiveFile read_naively(std::string_view text, char separator, std::size_t count) {
  NaiveFile file;
  std::size_t at = 0;
  const auto ends_line = [&](std::size_t i) { return text[i] == '\n' || text[i] == '\r'; };
  const auto behind_line_end = [&](std::size_t i) {
    return i + (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n' ? 2 : 1);
  };
  while (at < text.size()) {
    const std::size_t begin = at;
    if (ends_line(at)) {  // an empty line
      at = behind_line_end(at);
      continue;
    }
    NaiveRow row;
    row.line = std::stoul(naive_place(text, begin));
    constexpr std::size_t kNone = std::string::npos;
    std::size_t problem = kNone, surplus = kNone, no_utf8 = kNone;
    const auto complain = [&](std::size_t where) { problem = where < problem ? where : problem; };
    bool never_ends = false;
    for (;;) {
      std::string field;
      const std::size_t field_begin = at;
      const bool quoted = at < text.size() && text[at] == '"';
      if (quoted) {
        const std::size_t open = at++;
        for (;; ++at) {
          if (at == text.size()) {
            never_ends = true;
            complain(open);
            break;
          }
          if (text[at] == '"') {
            if (at + 1 == text.size() || text[at + 1] != '"') break;
            ++at;
          }
          field += text[at];
        }
        if (never_ends) break;
        ++at;
        if (at < text.size() && text[at] != separator && !ends_line(at)) complain(at);
      }
      for (; at < text.size() && text[at] != separator && !ends_line(at); ++at) {
        if (text[at] == '"') complain(at);
        field += text[at];
      }
      if (row.fields.size() == count && surplus == kNone) surplus = field_begin;
      bool utf8 = true;
      for (std::string_view rest = text.substr(field_begin, at - field_begin); utf8 && !rest.empty();) {
        const std::size_t length = utf8_length(rest);
        utf8 = length > 0;
        rest.remove_prefix(length);
      }
      if (!utf8) no_utf8 = std::min(no_utf8, field_begin);
      row.fields.push_back(field);
      row.quoted.push_back(quoted);
      if (at == text.size() || ends_line(at)) break;
      ++at;
    }
    if (never_ends) {
      for (at = begin; at < text.size() && !ends_line(at);) ++at;
    } else {
      const std::size_t zero = text.substr(begin, at - begin).find('\0');
      if (zero != kNone) complain(begin + zero);
      if (problem == kNone && row.fields.size() != count) complain(row.fields.size() < count ? at : surplus);
      if (problem == kNone) problem = no_utf8;  // if the row has no other error
    }
    if (at < text.size()) at = behind_line_end(at);
    if (problem == kNone)
      file.rows.push_back(row);
    else
      file.bad.push_back(naive_place(text, problem));
  }
  return file;
}

}  // namespace dptrain::data::table::test
