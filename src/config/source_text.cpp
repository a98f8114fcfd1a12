#include "config/source_text.h"

#include <algorithm>

#include "core/format.h"
#include "core/text.h"

namespace dptrain::config {
namespace {

/// Removes the byte order mark and makes each line end a '\n'.
std::string with_plain_line_ends(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = text.compare(0, 3, "\xEF\xBB\xBF") == 0 ? 3 : 0; i < text.size(); ++i) {
    if (text[i] != '\r')
      out += text[i];
    else if (i + 1 == text.size() || text[i + 1] != '\n')
      out += '\n';
  }
  return out;
}

/// Reports the first byte that is not valid text: a data file given as the config yields one error, not thousands.
bool check_bytes(const SourceText& source, Diagnostics& diagnostics) {
  const std::string_view text = source.text();
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0) {
      diagnostics.error(source.mark(i, 1), fmt::format("byte 0x{:02x} is not UTF-8 text; is this a YAML file?", c));
      return false;
    }
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F) {
      diagnostics.error(source.mark(i, 1), fmt::format("control character 0x{:02x}; is this a YAML file?", c));
      return false;
    }
    i += length;
  }
  return true;
}

bool check_tabs(const SourceText& source, Diagnostics& diagnostics) {
  const std::string& text = source.text();
  std::size_t first = std::string::npos, lines = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::size_t word = std::min(text.find_first_not_of(" \t", begin), end);
    const std::size_t tab = text.find('\t', begin);
    if (word < end && text[word] != '#' && tab < word && lines++ == 0) first = tab;
    begin = end + 1;
  }
  if (lines == 0) return true;
  const std::string more = lines == 1 ? "" : fmt::format(" (and in {} more line{})", lines - 1, lines == 2 ? "" : "s");
  diagnostics.error(source.mark(first, 1), "tab in the indentation; use spaces" + more);
  return false;
}

bool is_inner(char byte) { return (byte & 0xC0) == 0x80; }

constexpr std::size_t kStride = 64;

}  // namespace

int columns_of(std::string_view utf8) noexcept {
  return static_cast<int>(utf8.size()) - static_cast<int>(std::count_if(utf8.begin(), utf8.end(), is_inner));
}

std::optional<SourceText> SourceText::check(const std::string& raw, const std::string& name,
                                            const std::string& directory, Diagnostics& diagnostics) {
  std::string text = with_plain_line_ends(raw);
  auto source = std::make_shared<Source>();
  source->name = name;
  source->directory = directory;
  source->lines = split(text, '\n');
  SourceText checked(std::move(text), std::move(source));
  if (!check_bytes(checked, diagnostics) || !check_tabs(checked, diagnostics)) return std::nullopt;
  return checked;
}

SourceText::SourceText(std::string text, std::shared_ptr<const Source> source)
    : text_(std::move(text)), source_(std::move(source)), line_begins_{0} {
  std::size_t inner = 0;
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (i % kStride == 0) inner_bytes_.push_back(inner);
    if (text_[i] == '\n') line_begins_.push_back(i + 1);
    inner += is_inner(text_[i]) ? 1 : 0;
  }
  inner_bytes_.push_back(inner);
}

/// Uses inner_bytes_, because a long line may have many marks.
int SourceText::columns_between(std::size_t begin, std::size_t end) const {
  const auto inner_before = [&](std::size_t offset) {
    const std::size_t block = offset / kStride;
    const auto first = text_.begin() + static_cast<std::ptrdiff_t>(block * kStride);
    return inner_bytes_[block] + static_cast<std::size_t>(std::count_if(
                                     first, text_.begin() + static_cast<std::ptrdiff_t>(offset), is_inner));
  };
  return static_cast<int>(end - begin - (inner_before(end) - inner_before(begin)));
}

Mark SourceText::mark(std::size_t offset, std::size_t bytes) const {
  offset = std::min(offset, text_.size());
  const auto line = std::upper_bound(line_begins_.begin(), line_begins_.end(), offset) - 1;
  const std::size_t line_end = line + 1 == line_begins_.end() ? text_.size() : *(line + 1) - 1;
  Mark mark;
  mark.source = source_;
  mark.line = static_cast<int>(line - line_begins_.begin()) + 1;
  mark.column = columns_between(*line, offset) + 1;
  mark.length = std::max(1, columns_between(offset, offset + std::min(bytes, line_end - offset)));
  return mark;
}

}  // namespace dptrain::config
