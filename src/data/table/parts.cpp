#include "data/table/parts.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "core/error.h"
#include "core/format.h"
#include "data/table/fields.h"

namespace dptrain::data::table {

TableParts::TableParts(Schema s, std::shared_ptr<std::vector<Vocabulary>> v)
    : schema(std::move(s)),
      layout(schema),
      vocabularies(std::move(v)),
      counts(schema.columns.size()),
      cells(static_cast<std::size_t>(layout.cells)),
      texts_(static_cast<std::size_t>(layout.texts)) {}

int TableParts::add_file(std::string name, std::shared_ptr<const FileBytes> bytes) {
  files_.push_back({std::move(name), std::move(bytes), rows});
  return static_cast<int>(files_.size()) - 1;
}

std::int64_t TableParts::append(const ConvertedRows& in, std::size_t first, std::size_t count, const BlockPlace& place,
                                const char* text, std::uint64_t offset) {
  const std::int64_t begin = rows;
  cells.grow(rows + static_cast<std::int64_t>(count));
  texts_.grow(rows + static_cast<std::int64_t>(count));
  for (std::size_t i = 0; i < in.lines.size(); ++i) {
    const std::size_t from = std::max(in.lines[i].row, first);
    const std::size_t end = i + 1 < in.lines.size() ? in.lines[i + 1].row : in.rows;
    if (from >= std::min(end, first + count)) continue;
    const Run run{begin + static_cast<std::int64_t>(from - first),
                  place.first_line + in.lines[i].line + (from - in.lines[i].row), place.file};
    const bool continues = !runs_.empty() && runs_.back().file == run.file &&
                           runs_.back().line + static_cast<std::uint64_t>(run.row - runs_.back().row) == run.line;
    if (!continues) runs_.push_back(run);
  }
  if (const std::size_t width = texts_.width(); width > 0 && count > 0) {
    const bool hold = files_[static_cast<std::size_t>(place.file)].bytes == nullptr;
    if (hold) held_.push_back({held_bytes_, {}});
    for (const Pages<TextSpan>::Piece& piece : texts_.pieces(begin, count)) {
      std::memcpy(piece.to, in.texts.data() + (first + piece.first) * width, piece.count * width * sizeof(TextSpan));
      for (std::size_t i = 0; hold && i < piece.count * width; ++i) {
        held_.back().text.append(text + (piece.to[i].offset - offset), piece.to[i].size);
        piece.to[i].offset = held_bytes_;
        held_bytes_ += piece.to[i].size;
      }
    }
  }
  rows += static_cast<std::int64_t>(count);
  return begin;
}

void TableParts::add_counts(Converter& converter) {
  for (std::size_t c = 0; c < schema.columns.size(); ++c) {
    if (schema.columns[c].type != ColumnType::kCategory || layout.cell_of[c] < 0) continue;
    counts[c].resize((*vocabularies)[c].words().size());
    converter.words(static_cast<int>(c)).add_counts(counts[c]);
  }
}

const TableParts::File& TableParts::file_of(std::int64_t row) const {
  const auto behind = std::upper_bound(files_.begin(), files_.end(), row,
                                       [](std::int64_t r, const File& file) { return r < file.first_row; });
  return *std::prev(behind);
}

std::string TableParts::place(std::int64_t row) const {
  const auto behind =
      std::upper_bound(runs_.begin(), runs_.end(), row, [](std::int64_t r, const Run& run) { return r < run.row; });
  const Run& run = *std::prev(behind);
  return fmt::format("{}:{}", files_[static_cast<std::size_t>(run.file)].name,
                     run.line + static_cast<std::uint64_t>(row - run.row) + 1);
}

void TableParts::append_text(int column, std::int64_t row, std::string& out) const {
  const TextSpan span = texts_.row(row)[layout.text_of[static_cast<std::size_t>(column)]];
  if (span.size == 0) return;
  const File& file = file_of(row);
  if (file.bytes == nullptr) {
    const auto behind = std::upper_bound(held_.begin(), held_.end(), span.offset,
                                         [](std::uint64_t offset, const Held& held) { return offset < held.offset; });
    const Held& held = *std::prev(behind);
    append_unquoted(std::string_view(held.text).substr(span.offset - held.offset, span.size), out);
    return;
  }
  std::string field(span.size, '\0');
  file.bytes->read(span.offset, std::as_writable_bytes(std::span(field)));
  // The file may have been rewritten in place.
  if (field.front() == '"' && (field.size() < 2 || field.back() != '"'))
    throw Error(ErrorKind::kData,
                fmt::format("{}: the row is not the one that was read; was the file changed?", place(row)));
  append_unquoted(field, out);
}

std::int64_t TableParts::bytes() const {
  std::int64_t sum =
      cells.bytes() + texts_.bytes() + static_cast<std::int64_t>(held_bytes_ + runs_.size() * sizeof(Run));
  for (const Vocabulary& vocabulary : *vocabularies)
    for (const std::string& word : vocabulary.words())
      sum += static_cast<std::int64_t>(2 * (sizeof(std::string) + word.size()));
  return sum;
}

void copy_cells(const ConvertedRows& in, std::size_t first, const std::vector<Pages<Cell>::Piece>& to) {
  for (const Pages<Cell>::Piece& piece : to)
    std::memcpy(piece.to, in.cells.data() + (first + piece.first) * in.width, piece.count * in.width * sizeof(Cell));
}

}  // namespace dptrain::data::table
