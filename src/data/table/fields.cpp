#include "data/table/fields.h"

#include <algorithm>
#include <cstring>

#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "data/table/types.h"

namespace dptrain::data::table {

namespace k = kernels::cpu;

std::string found(std::string_view text) {
  constexpr std::size_t kMax = 40;
  if (text.size() <= kMax) return fmt::format("found '{}'", printable(text));
  std::size_t cut = kMax;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) --cut;  // do not split a character
  return fmt::format("found '{}...'", printable(text.substr(0, cut)));
}

/// One pass over the marks. Overwrites marks with the ends of fields.
class Fields::Walk {
 public:
  Walk(Fields& fields, const k::CsvMarks& marks, char separator, TextEnd end)
      : f_(fields),
        marks_(marks.marks),
        most_bad_(marks.quotes ? kMaxBadFields : marks.marks + 1),
        separator_(separator),
        end_(end),
        zeros_(marks.zeros) {}

  std::size_t run() {
    while (begin_ < f_.size_ && f_.bad_.size() < most_bad_ && !stopped_ && take_row()) {
    }
    return begin_;
  }

 private:
  static constexpr std::size_t kMaxBadFields = 10'000;

  char mark(std::size_t i) const { return f_.text_[f_.ends_[i]]; }
  bool is_quote(std::size_t i) const { return i < marks_ && mark(i) == '"'; }

  /// Returns false if the row does not end in this text.
  bool take_row() {
    written_ = f_.begins_.size() * f_.count_;
    fields_ = 0;
    within_ = 0;
    problem_ = {};
    bad_ = false;
    std::size_t field = begin_;
    for (;;) {
      if (field < f_.size_ && f_.text_[field] == '"' && !pass_quoted()) {
        if (end_ == TextEnd::kMore || (end_ == TextEnd::kLimit && begin_ > 0)) return false;
        never_ends(field);
        return true;
      }
      for (; is_quote(next_); ++next_)
        reject_row(f_.ends_[next_],
                   "found a double quote within a field that does not begin with one, expected the field in "
                   "quotes as a whole; write \"5\"\" pipe\" for 5\" pipe");
      if (next_ == marks_ && end_ != TextEnd::kFile) return false;
      const std::size_t end = next_ == marks_ ? f_.size_ : f_.ends_[next_];
      if (next_ < marks_ && mark(next_) == '\r' && end + 1 == f_.size_ && end_ != TextEnd::kFile) return false;
      if (fields_ == f_.count_ && !bad_) surplus_ = field;
      if (fields_ < f_.count_) f_.ends_[written_ + fields_] = static_cast<std::uint32_t>(end);
      ++fields_;
      if (next_ < marks_ && mark(next_) == separator_) {
        ++next_;
        field = end + 1;
        continue;
      }
      end_row(end);
      return true;
    }
  }

  void end_row(std::size_t end) {
    std::size_t behind = f_.size_;
    if (next_ < marks_) {
      behind = end + 1;
      const bool pair =
          mark(next_) == '\r' && next_ + 1 < marks_ && f_.ends_[next_ + 1] == end + 1 && mark(next_ + 1) == '\n';
      next_ += pair ? 2 : 1;
      if (pair) ++behind;
    }
    const bool empty = end == begin_;
    if (!empty) keep_row(end);
    f_.line_ += within_ + 1;
    begin_ = behind;
  }

  void keep_row(std::size_t end) {
    if (zeros_)
      if (const void* zero = std::memchr(f_.text_ + begin_, 0, end - begin_))
        reject_row(static_cast<std::size_t>(static_cast<const char*>(zero) - f_.text_),
                   "found a byte of zero, expected text; is this a file of rows, and in UTF-8?");
    if (!bad_ && fields_ != f_.count_)
      reject_row(fields_ < f_.count_ ? end : surplus_,
                 fmt::format("found {}, expected {}; a field that contains the separator ({}) needs double quotes",
                             counted(fields_, "field"), f_.count_, separator_name(separator_)),
                 -1);
    if (bad_) {
      f_.bad_.push_back(std::move(problem_));
      return;
    }
    if (f_.runs_.empty() || f_.runs_.back().line + (f_.begins_.size() - f_.runs_.back().row) != f_.line_)
      f_.runs_.push_back({f_.begins_.size(), f_.line_});
    f_.begins_.push_back(static_cast<std::uint32_t>(begin_));
  }

  /// Skips the quoted part of a field; false if it does not end.
  bool pass_quoted() {
    const std::uint64_t within = within_;
    for (++next_; next_ < marks_; ++next_) {
      const char c = mark(next_);
      const std::size_t at = f_.ends_[next_];
      if (c == '\n' ? f_.text_[at - 1] != '\r' : c == '\r') ++within_;
      if (c != '"') continue;
      if (is_quote(next_ + 1) && f_.ends_[next_ + 1] == at + 1) {
        ++next_;
        continue;
      }
      ++next_;
      const std::size_t behind = at + 1;
      const bool apart = next_ < marks_ ? f_.ends_[next_] == behind : behind == f_.size_;
      if (!apart && (next_ < marks_ || end_ == TextEnd::kFile))
        reject_row(behind, fmt::format("{} after the closing quote, expected the separator ({}) or the end of the "
                                       "line; a quote within quotes is written twice",
                                       found({f_.text_ + behind, 1}), separator_name(separator_)));
      return true;
    }
    within_ = within;
    return false;
  }

  /// Ends a bad row with an open quote after its first line. The next row begins with the next line.
  void never_ends(std::size_t open) {
    reject_row(open, end_ == TextEnd::kFile
                         ? "found a double quote that is not closed in this file, expected a closing one"
                         : fmt::format("found a double quote that is not closed within {}, expected a closing one",
                                       human_bytes(f_.size_)));
    f_.bad_.push_back(std::move(problem_));
    std::size_t end = begin_;
    while (end < f_.size_ && !ends_line(f_.text_[end])) ++end;
    if (end < f_.size_) end += f_.text_[end] == '\r' && end + 1 < f_.size_ && f_.text_[end + 1] == '\n' ? 2 : 1;
    ++f_.line_;
    begin_ = end;
    stopped_ = true;  // the row's field ends may have overwritten marks that the next row needs
  }

  void reject_row(std::size_t at, std::string reason) { reject_row(at, std::move(reason), static_cast<int>(fields_)); }
  /// Records an error of the current row unless it has an earlier one.
  void reject_row(std::size_t at, std::string words, int field) {
    if (bad_ && at >= at_) return;
    bad_ = true;
    at_ = at;
    std::size_t line = begin_;
    std::uint64_t lines = 0;
    for (std::size_t i = begin_; i < at; ++i)
      if (ends_line(f_.text_[i]) && !(f_.text_[i] == '\r' && i + 1 < f_.size_ && f_.text_[i + 1] == '\n')) {
        line = i + 1;
        ++lines;
      }
    problem_ = {f_.begins_.size(), f_.line_ + lines, at - line, begin_, field, std::move(words)};
  }

  Fields& f_;
  const std::size_t marks_, most_bad_;
  const char separator_;
  const TextEnd end_;
  const bool zeros_;
  std::size_t begin_ = 0, next_ = 0, written_ = 0, fields_ = 0, surplus_ = 0, at_ = 0;
  std::uint64_t within_ = 0;  // line breaks in the row so far
  bool bad_ = false, stopped_ = false;
  BadField problem_;
};

void Fields::reserve(std::size_t size) {
  const std::size_t wanted = size + k::kTextPad;
  if (wanted <= capacity_) return;
  ends_ = std::make_unique_for_overwrite<std::uint32_t[]>(wanted);
  feeds_ = std::make_unique_for_overwrite<std::uint32_t[]>(wanted);
  capacity_ = wanted;
}

std::size_t Fields::find(const char* text, std::size_t size, char separator, std::size_t count, TextEnd end) {
  reserve(size);
  text_ = text;
  size_ = size;
  count_ = count;
  begins_.clear();
  runs_.clear();
  bad_.clear();
  line_ = 0;
  const k::CsvMarks marks = k::find_csv_marks(text, size, separator, ends_.get(), feeds_.get());
  high_ = marks.high;
  if (!marks.quotes && !marks.returns && !marks.zeros && take_regular(marks, end)) return size;
  return Walk(*this, marks, separator, end).run();
}

/// Fills the members if all rows have count_ fields and the text ends with a row. Returns false otherwise.
bool Fields::take_regular(const k::CsvMarks& marks, TextEnd end) {
  if (count_ < 2 || size_ == 0) return false;
  std::size_t rows = marks.line_feeds, all = marks.marks;
  const bool open = text_[size_ - 1] != '\n';
  if (open && end != TextEnd::kFile) return false;
  if (open) {
    feeds_[rows++] = static_cast<std::uint32_t>(all);
    ends_[all++] = static_cast<std::uint32_t>(size_);
  }
  bool regular = all == rows * count_;
  for (std::size_t row = 0; regular && row < rows; ++row) regular = feeds_[row] == (row + 1) * count_ - 1;
  if (!regular) return false;
  begins_.resize(rows);
  begins_[0] = 0;
  for (std::size_t row = 1; row < rows; ++row) begins_[row] = ends_[row * count_ - 1] + 1;
  runs_.push_back({0, 0});
  line_ = rows;
  return true;
}

void Fields::refuse(std::string reason) {
  begins_.clear();
  runs_.clear();
  bad_.assign(1, BadField{.reason = std::move(reason)});
  line_ = 1;
}

std::uint64_t Fields::line_of(std::size_t row) const {
  const auto behind =
      std::upper_bound(runs_.begin(), runs_.end(), row, [](std::size_t r, const LineRun& run) { return r < run.row; });
  return std::prev(behind)->line + (row - std::prev(behind)->row);
}

BadField Fields::bad_field(std::size_t row, std::size_t at, std::string words) const {
  const std::string_view text = field(row, at);
  std::uint64_t line = line_of(row);
  const char* from = text_ + begins_[row];
  for (const char* c = from; c < text.data(); ++c)
    if (ends_line(*c) && !(*c == '\r' && c[1] == '\n')) {
      ++line;
      from = c + 1;
    }
  return {
      row, line, static_cast<std::uint64_t>(text.data() - from), begins_[row], static_cast<int>(at), std::move(words)};
}

namespace {

/// Bytes of the line end at `at`, or 0. Sets `open` for a '\r' at the end of text that continues.
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
    if (row.fields.size() > kMaxColumns) {
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

}  // namespace dptrain::data::table
