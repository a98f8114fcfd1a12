#include "core/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "core/text.h"

namespace dptrain::terminal {
namespace {

struct Range {
  std::uint32_t first, last;
};
// Blocks of Unicode 15, not single characters.
constexpr std::array<Range, 8> kNoColumn{{{0x300, 0x36F},
                                          {0x483, 0x489},
                                          {0x591, 0x5BD},
                                          {0x1AB0, 0x1AFF},
                                          {0x1DC0, 0x1DFF},
                                          {0x200B, 0x200F},
                                          {0x20D0, 0x20FF},
                                          {0xFE00, 0xFE0F}}};
constexpr std::array<Range, 11> kTwoColumns{{{0x1100, 0x115F},
                                             {0x2E80, 0x303E},
                                             {0x3041, 0x4DBF},
                                             {0x4E00, 0xA4CF},
                                             {0xAC00, 0xD7A3},
                                             {0xF900, 0xFAFF},
                                             {0xFE30, 0xFE6F},
                                             {0xFF00, 0xFF60},
                                             {0xFFE0, 0xFFE6},
                                             {0x1F300, 0x1FAFF},
                                             {0x20000, 0x3FFFD}}};

bool is_in(const auto& ranges, std::uint32_t character) {
  return std::ranges::any_of(ranges, [&](const Range& r) { return r.first <= character && character <= r.last; });
}

/// A unit that is never cut: a character, or an escape sequence that sets a style.
struct Glyph {
  std::string_view bytes;
  std::size_t columns = 0;
  bool is_blank() const { return bytes == " "; }
};

Glyph glyph_at(std::string_view text) {
  if (text.starts_with("\033[")) {
    const std::size_t end = text.find('m');
    if (end != std::string_view::npos) return {text.substr(0, end + 1), 0};
  }
  const std::size_t length = std::max<std::size_t>(1, utf8_length(text));
  auto character = static_cast<std::uint32_t>(static_cast<unsigned char>(text[0]));
  if (length > 1) character &= 0x7FU >> length;
  for (std::size_t i = 1; i < length; ++i)
    character = (character << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  return {text.substr(0, length), is_in(kNoColumn, character) ? 0U : is_in(kTwoColumns, character) ? 2U : 1U};
}

std::vector<Glyph> glyphs_of(std::string_view text) {
  std::vector<Glyph> glyphs;
  while (!text.empty()) {
    glyphs.push_back(glyph_at(text));
    text.remove_prefix(glyphs.back().bytes.size());
  }
  return glyphs;
}

std::size_t columns_of(const std::vector<Glyph>& glyphs) {
  std::size_t all = 0;
  for (const Glyph& glyph : glyphs) all += glyph.columns;
  return all;
}

std::string blanks(std::size_t count) { return std::string(count, ' '); }

/// Columns at which a line's text begins, and at which its last text column in the left half begins.
struct Layout {
  std::size_t indent = 0, hang = 0;
};
Layout layout_of(const std::vector<Glyph>& glyphs, std::size_t columns) {
  Layout layout;
  std::size_t at = 0, run = 0;
  bool text = false;
  for (const Glyph& glyph : glyphs) {
    if (glyph.is_blank()) {
      ++run;
    } else if (glyph.columns > 0) {
      if (!text) layout.indent = at;
      if (text && run >= 2 && at <= columns / 2) layout.hang = at;
      text = true;
      run = 0;
    }
    at += glyph.columns;
  }
  if (layout.hang == 0) layout.hang = std::min(layout.indent + 2, columns / 2);
  return layout;
}

/// Appends words to lines. `limit` is the width of a line, without the backslash of a command.
class Lines {
 public:
  Lines(std::string begin, std::size_t hang, std::size_t columns, bool is_command)
      : out_(std::move(begin)),
        at_(width(out_)),
        hang_(std::min(hang, columns / 2)),
        limit_(std::max<std::size_t>(1, is_command && columns > 2 ? columns - 2 : columns)),
        is_command_(is_command) {}

  void word(const std::vector<Glyph>& gap, const std::vector<Glyph>& word) {
    if (at_ + columns_of(gap) + columns_of(word) <= limit_) return append(gap), append(word);
    if (begun_ && hang_ + columns_of(word) <= limit_) return next_line(), append(word);
    append(gap);
    for (std::size_t i = 0; i < word.size(); i += place(word, i)) {
    }
  }
  std::string take() { return std::move(out_); }

 private:
  void append(const std::vector<Glyph>& glyphs) {
    for (const Glyph& glyph : glyphs) out_ += glyph.bytes, at_ += glyph.columns;
    begun_ = begun_ || !glyphs.empty();
  }
  void next_line() {
    while (out_.ends_with(' ')) out_.pop_back();
    out_ += (is_command_ ? " \\\n" : "\n") + blanks(hang_);
    at_ = hang_;
  }
  /// Continues a word on the next line: a shell joins its parts only without blanks between them.
  void next_line_in_word() {
    at_ = is_command_ ? 0 : hang_;
    out_ += (is_command_ ? "\\\n" : "\n") + blanks(at_);
  }
  /// Appends the part of a long word that fits, up to its last possible break. Returns the number of glyphs.
  std::size_t place(const std::vector<Glyph>& word, std::size_t first) {
    std::size_t end = first, good = first, at = at_;
    while (end < word.size() && at + word[end].columns <= limit_) {
      at += word[end].columns;
      ++end;
      if (word[end - 1].bytes == "/" || word[end - 1].bytes == "," || end == word.size()) good = end;
    }
    if (good == first && first == 0 && at_ > hang_) return next_line(), 0;  // none: start on a new line
    if (good == first) good = std::max(end, first + 1);
    append({word.begin() + static_cast<std::ptrdiff_t>(first), word.begin() + static_cast<std::ptrdiff_t>(good)});
    if (good < word.size()) next_line_in_word();
    return good - first;
  }

  std::string out_;
  std::size_t at_, hang_, limit_;
  bool is_command_;
  bool begun_ = false;  ///< whether a word follows the beginning
};

/// Start of a shell command in a line that is indented, or follows a label as in "  evaluate dptrain eval DIR".
std::size_t command_begin(std::string_view line) {
  const std::size_t indent = line.find_first_not_of(' '), begin = line.find("dptrain ");
  if (indent == 0 || indent == std::string_view::npos || begin == std::string_view::npos) return std::string_view::npos;
  const std::string_view label = line.substr(0, begin);
  const bool is_word = label.find(' ', indent) == begin - 1;
  return begin == indent || label.ends_with("  ") || is_word ? begin : std::string_view::npos;
}

std::string wrapped_line(const std::string& begin, const std::vector<Glyph>& glyphs, std::size_t hang,
                         std::size_t columns) {
  std::string plain;
  for (const Glyph& glyph : glyphs)
    if (glyph.columns > 0) plain += glyph.bytes;
  const std::size_t command = command_begin(plain);
  const bool is_command = command != std::string::npos;
  if (is_command) hang = std::max(hang, command);
  Lines lines(begin, hang, columns, is_command);
  for (std::size_t i = 0; i < glyphs.size();) {
    std::vector<Glyph> gap, word;
    for (; i < glyphs.size() && glyphs[i].is_blank(); ++i) gap.push_back(glyphs[i]);
    for (; i < glyphs.size() && !glyphs[i].is_blank(); ++i) word.push_back(glyphs[i]);
    // " - loss: 0.8123" stays together.
    while (i < glyphs.size() && !word.empty() && word.front().bytes == "-" &&
           (word.size() == 1 || word.back().bytes == ":")) {
      for (; i < glyphs.size() && glyphs[i].is_blank(); ++i) word.push_back(glyphs[i]);
      for (; i < glyphs.size() && !glyphs[i].is_blank(); ++i) word.push_back(glyphs[i]);
    }
    if (!word.empty()) lines.word(gap, word);
  }
  return lines.take();
}

}  // namespace

std::optional<std::size_t> columns(int descriptor) {
  winsize size{};
  if (isatty(descriptor) != 1 || ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

bool has_cursor(int descriptor) {
  const char* const term = std::getenv("TERM");
  return isatty(descriptor) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

std::size_t width(std::string_view text) { return columns_of(glyphs_of(text)); }

std::string cut(std::string_view text, std::size_t columns) {
  std::string shown;
  std::size_t at = 0;
  for (const Glyph& glyph : glyphs_of(text)) {
    if (at + glyph.columns > columns) break;
    shown += glyph.bytes;
    at += glyph.columns;
  }
  return shown;
}

std::string wrapped(std::string_view text, std::optional<std::size_t> columns) {
  if (!columns) return std::string(text);
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines) {
    const std::vector<Glyph> glyphs = glyphs_of(line);
    if (columns_of(glyphs) <= *columns) continue;
    const bool is_rule = line.find_first_not_of('-') == std::string::npos;
    line = is_rule ? line.substr(0, *columns) : wrapped_line("", glyphs, layout_of(glyphs, *columns).hang, *columns);
  }
  return join(lines, "\n");
}

std::string wrapped(const std::string& begin, std::string_view text, std::size_t hang, std::size_t columns) {
  return wrapped_line(begin, glyphs_of(text), hang, columns);
}

std::string fitted(int descriptor, std::string_view text) { return wrapped(text, columns(descriptor)); }

namespace {

constexpr std::string_view kEnd = "\033[0m", kBold = "\033[1m", kAdvice = "\033[32m";

struct Severity {
  std::string_view word, style;
};
constexpr std::array<Severity, 2> kSeverities{{{"error: ", "\033[1;31m"}, {"warning: ", "\033[1;33m"}}};

/// Begin of the advice in a message: its last clause, if that is a question or an instruction.
std::size_t advice_begin(std::string_view message) {
  constexpr std::array<std::string_view, 11> kVerbs{"did you mean", "try ", "write ", "use ",    "see ",   "give ",
                                                    "pass ",        "add ", "set ",   "remove ", "rename "};
  const std::size_t clause = message.rfind("; ");
  if (clause == std::string_view::npos) return std::string_view::npos;
  const std::string_view words = message.substr(clause + 2);
  return std::ranges::any_of(kVerbs, [&](std::string_view verb) { return words.starts_with(verb); })
             ? clause + 2
             : std::string_view::npos;
}

std::string styled(std::string_view style, std::string_view text) {
  if (text.empty()) return "";
  return std::string(style) + std::string(text) + std::string(kEnd);
}

}  // namespace

std::string colored(std::string_view text) {
  std::vector<std::string> lines = split(text, '\n');
  std::string_view style;  // the severity of the last message
  for (std::string& line : lines) {
    const std::string_view whole = line;
    const auto* const found = std::ranges::find_if(kSeverities, [&](const Severity& severity) {
      const std::size_t at = whole.find(severity.word);
      return at == 0 || (at != std::string_view::npos && whole.substr(0, at).ends_with(": ") &&
                         whole.substr(0, at).find(' ') == at - 1);  // after a location without blanks
    });
    if (found != kSeverities.end()) {
      style = found->style;
      const std::size_t at = whole.find(found->word), message = at + found->word.size();
      const std::size_t advice = advice_begin(whole.substr(message));
      const std::string_view what = whole.substr(message, advice);
      const std::string tail = advice == std::string_view::npos ? "" : styled(kAdvice, whole.substr(message + advice));
      line = std::string(whole.substr(0, at)) + styled(style, found->word.substr(0, found->word.size() - 1)) + " " +
             styled(kBold, what) + tail;
    } else if (const std::size_t caret = whole.find_first_not_of(" |");
               caret != std::string_view::npos && whole[caret] == '^' && whole.find('|') < caret) {
      line = std::string(whole.substr(0, caret)) + styled(style, whole.substr(caret));
    } else if (whole.starts_with("  help: ") || whole.starts_with("  hint: ")) {
      line = "  " + styled(kAdvice, whole.substr(2));
    }
  }
  return join(lines, "\n");
}

Table& Table::column(std::string head, Align align) {
  columns_.push_back({align, {std::move(head)}});
  return *this;
}

Table& Table::row(std::vector<std::string> cells) {
  for (std::size_t i = 0; i < columns_.size(); ++i)
    columns_[i].cells.push_back(i < cells.size() ? std::move(cells[i]) : "");
  return *this;
}

std::size_t Table::Column::width() const {
  std::size_t most = 0;
  for (const std::string& cell : cells) most = std::max(most, terminal::width(cell));
  return most;
}

std::string Table::block(const std::vector<const Column*>& shown, std::optional<std::size_t> columns) {
  std::string text;
  for (std::size_t row = 0; row < shown.front()->cells.size(); ++row) {
    std::string line;
    for (const Column* column : shown) {
      const std::string& cell = column->cells[row];
      const std::string rest = blanks(column->width() - terminal::width(cell));
      if (column != shown.front()) line += "  ";
      line += column->align == Align::kLeft ? cell + rest : rest + cell;
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += wrapped(line, columns) + "\n";
  }
  return text;
}

std::string Table::text(std::optional<std::size_t> columns) const {
  constexpr std::size_t kGap = 2;
  std::string text;
  std::vector<const Column*> shown;
  std::size_t taken = 0;
  for (const Column& column : columns_) {
    if (columns && shown.size() > 1 && taken + kGap + column.width() > *columns) {
      text += block(shown, columns) + "\n";
      shown = {&columns_.front()};
      taken = shown.front()->width();
    }
    taken += (shown.empty() ? 0 : kGap) + column.width();
    shown.push_back(&column);
  }
  return text + block(shown, columns);
}

}  // namespace dptrain::terminal
