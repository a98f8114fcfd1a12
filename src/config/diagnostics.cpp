#include "config/diagnostics.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "config/source_text.h"
#include "core/error.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/terminal.h"
#include "core/text.h"

namespace dptrain::config {
namespace {

std::vector<const Diagnostic*> sorted(const std::vector<Diagnostic>& all) {
  const auto key = [](const Diagnostic* d) {
    static const std::string kNowhere;
    return std::tuple<const std::string&, int, int, const std::string&>(
        d->mark.source ? d->mark.source->name : kNowhere, d->mark.line, d->mark.column, d->message);
  };
  std::vector<const Diagnostic*> list;
  for (const Diagnostic& d : all) list.push_back(&d);

  std::stable_sort(list.begin(), list.end(), [&](const auto* a, const auto* b) { return key(a) < key(b); });
  list.erase(std::unique(list.begin(), list.end(), [&](const auto* a, const auto* b) { return key(a) == key(b); }),
             list.end());
  return list;
}

/// Byte offset of the code point with this index (from 0) in UTF-8 text; its size if there are fewer.
std::size_t byte_of(std::string_view line, int column) {
  std::size_t i = 0;
  for (int seen = 0; i < line.size(); ++i)
    if ((line[i] & 0xC0) != 0x80 && seen++ == column) break;
  return i;
}

/// The source line and an underline below it. A line longer than the terminal is cut to the part around the error.
std::string excerpt(const Mark& mark) {
  if (!mark.known() || static_cast<std::size_t>(mark.line) > mark.source->lines.size()) return "";
  constexpr int kGutter = 8, kDots = 6, kUsual = 140, kMin = 8;
  const auto terminal = static_cast<int>(terminal::columns(STDERR_FILENO).value_or(kUsual + kGutter + kDots));
  const int longest = std::clamp(terminal - kGutter - kDots, kMin, kUsual), before = longest / 2;
  std::string line = mark.source->lines[static_cast<std::size_t>(mark.line) - 1];
  std::replace(line.begin(), line.end(), '\t', ' ');
  const int columns = columns_of(line);
  const int first = columns > longest ? std::max(0, mark.column - 1 - before) : 0;  // columns left out
  std::string shown = line.substr(byte_of(line, first), byte_of(line, first + longest) - byte_of(line, first));
  int indent = mark.column - 1 - first;
  if (first > 0) shown = "..." + shown, indent += 3;
  if (columns > first + longest) shown += "...";
  const int length = std::max(1, std::min(mark.length, first + longest - mark.column + 1));
  return fmt::format("{:>5} | {}\n      | {}^{}\n", mark.line, shown,
                     std::string(static_cast<std::size_t>(indent), ' '),
                     std::string(static_cast<std::size_t>(length - 1), '~'));
}

/// Columns of the word that begins at `column`.
int word_length(std::string_view line, int column) {
  const std::size_t begin = byte_of(line, column - 1);
  if (begin >= line.size()) return 1;
  const std::size_t end = std::min(line.find_first_of(" ,:{}[]#", begin), line.size());
  return std::max(1, columns_of(line.substr(begin, end - begin)));
}

std::string render_one(const Diagnostic& d, const char* level) {
  std::string text = d.mark.known() ? d.mark.str() + ": " : "";
  text += fmt::format("{}: {}\n{}", level, d.message, excerpt(d.mark));
  for (const auto& [mark, message] : d.notes)
    text += fmt::format("  note: {}{}\n", message, mark.known() ? " at " + mark.str() : "");
  return text;
}

nlohmann::ordered_json json_line(const Mark& mark, const char* level, const std::string& message) {
  nlohmann::ordered_json line{{"level", level}};
  if (mark.known()) line.update({{"file", mark.source->name}, {"line", mark.line}, {"column", mark.column}});
  line["message"] = message;
  return line;
}

}  // namespace

std::string excerpt_of(const SourceLocation& location) {
  if (!location.is_known() || !(location.file.ends_with(".yaml") || location.file.ends_with(".yml"))) return "";
  std::ifstream file(location.file);
  const auto source = std::make_shared<Source>();
  source->name = location.file;
  for (std::string line; static_cast<int>(source->lines.size()) < location.line && std::getline(file, line);)
    source->lines.push_back(printable(line, "\t"));
  if (static_cast<int>(source->lines.size()) < location.line) return "";
  return excerpt({.source = source,
                  .line = location.line,
                  .column = location.column,
                  .length = word_length(source->lines.back(), location.column)});
}

Diagnostic& Diagnostics::error(const Mark& mark, std::string message) {
  return errors_.emplace_back(Diagnostic{mark, std::move(message), {}});
}

void Diagnostics::warn(const Mark& mark, std::string message) { warnings_.push_back({mark, std::move(message), {}}); }

std::string Diagnostics::render(ErrorKind kind) const {
  std::string text;
  const auto list = sorted(errors_);
  for (const Diagnostic* d : list) text += render_one(*d, "error");
  if (list.empty()) return text;
  return text + fmt::format("{}; nothing was run (exit {})", counted(list.size(), "error"), static_cast<int>(kind));
}

std::string Diagnostics::render_warnings() const {
  std::string text;
  for (const Diagnostic* d : sorted(warnings_)) text += render_one(*d, "warning");
  return text;
}

std::string Diagnostics::render_json() const {
  std::string text;
  const auto add = [&](const nlohmann::ordered_json& line) {
    text += line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  };
  for (const Diagnostic* d : sorted(errors_)) {
    add(json_line(d->mark, "error", d->message));
    for (const auto& [mark, message] : d->notes) add(json_line(mark, "note", message));
  }
  return text;
}

void Diagnostics::throw_if_errors(ErrorKind kind) const {
  if (!ok()) throw ConfigError(*this, kind);
}

}  // namespace dptrain::config
