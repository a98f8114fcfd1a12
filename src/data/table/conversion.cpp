#include "data/table/conversion.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/table/date.h"
#include "data/table/fields.h"
#include "data/table/types.h"

namespace dptrain::data::table {

std::string column_name(std::size_t i) { return fmt::format("column{}", i + 1); }

void complete_names(std::vector<std::string>& names, const std::string& file) {
  std::unordered_map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) names[i] = column_name(i);
    const auto [first, fresh] = seen.emplace(names[i], i);
    if (!fresh)
      throw Error(ErrorKind::kData, fmt::format("{}:1:1: found the name '{}' for columns {} and {}, expected different "
                                                "names; if the first row is not a header, write "
                                                "`header: false` in the arguments of CSV",
                                                file, printable(names[i]), first->second + 1, i + 1));
  }
}

Cell missing_cell(ColumnType type) {
  Cell cell{};
  if (type == ColumnType::kNumber)
    cell.number = std::numeric_limits<float>::quiet_NaN();
  else if (type == ColumnType::kCategory)
    cell.code = Cell::kMissing;
  else
    cell.minutes = Cell::kNoDate;
  return cell;
}

namespace {

/// Whether the kernel reads the format's numbers without thousands. number_at() reads the others.
bool is_decimal_point(const NumberFormat& format) { return format.decimal == '.' && format.sign.empty(); }

}  // namespace

Layout::Layout(const Schema& schema) {
  for (const Column& column : schema.columns) {
    const bool text = column.kept && column.type == ColumnType::kText;
    const bool cell = column.kept && !text && column.type != ColumnType::kId;
    cell_of.push_back(cell ? cells++ : -1);
    text_of.push_back(text ? texts++ : -1);
  }
}

FileLayout::FileLayout(const Schema& schema, const Layout& layout, std::vector<std::string> header,
                       const std::string& file)
    : count(schema.dialect.header
                ? header.size()
                : static_cast<std::size_t>(std::ranges::count(schema.columns, false, &Column::verbatim))),
      names(std::move(header)) {
  complete_names(names, file);
  std::vector<int> field_of(schema.columns.size(), -1);
  if (schema.dialect.header) {
    std::unordered_map<std::string, int> fields;
    for (std::size_t i = 0; i < names.size(); ++i) fields.emplace(names[i], static_cast<int>(i));
    for (std::size_t c = 0; c < schema.columns.size(); ++c) {
      const auto at = fields.find(schema.columns[c].name);
      if (at != fields.end()) {
        field_of[c] = at->second;
      } else if (!schema.columns[c].optional) {
        const std::string& name = schema.columns[c].name;
        throw Error(ErrorKind::kData, fmt::format("{}:1:1: found no column '{}' in the header, expected it{}", file,
                                                  printable(name), did_you_mean(name, names)));
      }
    }
  } else {
    for (std::size_t c = 0; c < schema.columns.size(); ++c) {
      if (c < count) names.push_back(schema.columns[c].name);
      field_of[c] = c < count ? static_cast<int>(c) : schema.find(schema.columns[c].name);
    }
  }
  column_of.assign(count, -1);
  for (std::size_t c = 0; c < schema.columns.size(); ++c) {
    const int slot = layout.cell_of[c] >= 0 ? layout.cell_of[c] : layout.text_of[c];
    if (field_of[c] >= 0 && !schema.columns[c].verbatim)
      column_of[static_cast<std::size_t>(field_of[c])] = static_cast<int>(c);
    if (slot < 0) continue;
    const ColumnType type = schema.columns[c].type;
    const Place place{static_cast<std::uint32_t>(field_of[c]), static_cast<std::uint32_t>(slot), static_cast<int>(c)};
    if (field_of[c] < 0) {
      if (type != ColumnType::kText) absent.push_back(place);
    } else if (type == ColumnType::kNumber && !is_decimal_point(schema.columns[c].numbers)) {
      formatted_numbers.push_back(place);
    } else if (type == ColumnType::kNumber) {
      number_fields.push_back(place.field);
      number_slots.push_back(place.slot);
      number_columns.push_back(place.column);
    } else {
      (type == ColumnType::kDate ? dates : type == ColumnType::kCategory ? categories : texts).push_back(place);
    }
  }
}

namespace {

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    if (static_cast<unsigned char>(text.front()) < 0x80) {
      text.remove_prefix(1);
      continue;
    }
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool is_plain_field(std::string_view field) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  return field.empty() || (field.front() != '"' && !is_space(field.front()) && !is_space(field.back()));
}

}  // namespace

Converter::Converter(const Schema& schema, const Layout& layout, const std::vector<Vocabulary>& vocabularies)
    : schema_(schema),
      layout_(layout),
      empty_is_missing_(std::find(schema.missing.begin(), schema.missing.end(), "") != schema.missing.end()),
      words_(schema.columns.size()) {
  for (std::size_t c = 0; c < schema.columns.size(); ++c)
    if (schema.columns[c].type == ColumnType::kCategory && layout.cell_of[c] >= 0)
      words_[c].emplace(vocabularies[c], schema.missing);
}

bool Converter::is_missing(std::string_view text) const {
  return std::find(schema_.missing.begin(), schema_.missing.end(), text) != schema_.missing.end();
}

/// The field without its quotes, or unquoted without spaces around. Valid until the next call; 16 more bytes are
/// readable after it.
std::string_view Converter::unquoted_text(std::string_view field) {
  if (field.empty() || field.front() != '"') return trimmed(field);
  const std::string_view within = field.substr(1, field.size() - 2);
  if (within.find('"') == std::string_view::npos) return within;
  unquoted_.clear();
  append_unquoted(field, unquoted_);
  const std::size_t size = unquoted_.size();
  unquoted_.resize(size + 16);
  return std::string_view(unquoted_).substr(0, size);
}

void Converter::note_bad(BadField field) {
  alive_[field.row] = 0;
  own_bad_.push_back(std::move(field));
}

void Converter::convert(const Block& block, const FileLayout& file, ConvertedRows& out) {
  const Fields& fields = block.fields;
  const auto cells = static_cast<std::size_t>(layout_.cells);
  out.rows = fields.rows();
  out.width = cells;
  out.cells.resize(out.rows * cells);
  out.texts.assign(out.rows * static_cast<std::size_t>(layout_.texts), {});
  out.fresh.clear();
  out.line_count = fields.line_count();
  out.bad = fields.bad();
  out.lines = fields.lines();
  own_bad_.clear();
  alive_.assign(out.rows, 1);
  numbers(fields, file, out);
  formatted_numbers(fields, file, out);
  dates(fields, file, out);
  texts(fields, file, out);
  if (fields.high()) check_utf8(block, file);
  for (const FileLayout::Place& place : file.absent) {
    const Cell cell = missing_cell(schema_.columns[static_cast<std::size_t>(place.column)].type);
    for (std::size_t row = 0; row < out.rows; ++row) out.cells[row * cells + place.slot] = cell;
  }
  for (TextSpan& span : out.texts) span.offset += block.offset;
  if (!own_bad_.empty()) remove_bad_rows(fields, out);
  categories(fields, file, out);
}

void Converter::numbers(const Fields& fields, const FileLayout& file, ConvertedRows& out) {
  const kernels::cpu::CsvColumns columns = file.numbers();
  if (columns.count == 0 || out.rows == 0) return;
  const auto cells = static_cast<std::size_t>(layout_.cells);
  left_.resize(std::max(left_.size(), out.rows * columns.count));
  const std::size_t left =
      kernels::cpu::short_decimals(fields.raw(), columns, empty_is_missing_, &out.cells[0].number, cells, left_.data());
  for (std::size_t i = 0; i < left; ++i) {
    const std::size_t row = left_[i] / columns.count, number = left_[i] % columns.count;
    const std::size_t field = file.number_fields[number];
    out.cells[row * cells + file.number_slots[number]].number =
        number_at(fields, row, field, file.number_columns[number]);
  }
}

/// Parses the numbers in formats that the kernel does not support.
void Converter::formatted_numbers(const Fields& fields, const FileLayout& file, ConvertedRows& out) {
  const auto cells = static_cast<std::size_t>(layout_.cells);
  for (const FileLayout::Place& place : file.formatted_numbers)
    for (std::size_t row = 0; row < out.rows; ++row)
      out.cells[row * cells + place.slot].number = number_at(fields, row, place.field, place.column);
}

/// Parses a number; NaN if it is missing or bad.
float Converter::number_at(const Fields& fields, std::size_t row, std::size_t field, int column) {
  const Column& of = schema_.columns[static_cast<std::size_t>(column)];
  const std::string_view text = unquoted_text(fields.field(row, field));
  float value = 0;
  const NumberFault fault = read_number(text, of.numbers, value);
  if (fault == NumberFault::kNone) return value;
  if (!is_missing(text)) note_bad(fields.bad_field(row, field, number_words(text, fault, of.numbers, of.name)));
  return std::numeric_limits<float>::quiet_NaN();
}

void Converter::dates(const Fields& fields, const FileLayout& file, ConvertedRows& out) {
  const auto cells = static_cast<std::size_t>(layout_.cells);
  for (const FileLayout::Place& place : file.dates) {
    const Column& column = schema_.columns[static_cast<std::size_t>(place.column)];
    const DateForm form = column.form;
    for (std::size_t row = 0; row < out.rows; ++row) {
      const std::string_view text = unquoted_text(fields.field(row, place.field));
      const std::optional<std::int32_t> minutes = read_date(text, form);
      out.cells[row * cells + place.slot].minutes = minutes.value_or(Cell::kNoDate);
      if (!minutes && !is_missing(text))
        note_bad(fields.bad_field(row, place.field,
                                  fmt::format("{}, expected a date as {}{}", found(text), date_example(form),
                                              words_hint(text, column.name))));
    }
  }
}

void Converter::texts(const Fields& fields, const FileLayout& file, ConvertedRows& out) {
  const auto width = static_cast<std::size_t>(layout_.texts);
  for (const FileLayout::Place& place : file.texts)
    for (std::size_t row = 0; row < out.rows; ++row) {
      const std::string_view text = fields.field(row, place.field);
      const std::size_t offset = static_cast<std::size_t>(text.data() - fields.raw().text);
      out.texts[row * width + place.slot] = {offset, static_cast<std::uint32_t>(text.size())};
    }
}

void Converter::check_utf8(const Block& block, const FileLayout& file) {
  if (is_utf8({block.text.data(), block.size})) return;
  for (const auto* places : {&file.categories, &file.texts})
    for (const FileLayout::Place& place : *places)
      for (std::size_t row = 0;
           !schema_.columns[static_cast<std::size_t>(place.column)].verbatim && row < block.fields.rows(); ++row)
        if (const std::string_view text = block.fields.field(row, place.field); !is_utf8(text))
          note_bad(block.fields.bad_field(
              row, place.field,
              found(text) + ", expected text in UTF-8; `iconv -f WINDOWS-1252 -t UTF-8` rewrites a file that "
                            "is in an older encoding"));
}

/// Removes bad rows from `out` and adds their errors, sorted by position.
void Converter::remove_bad_rows(const Fields& fields, ConvertedRows& out) {
  const auto cells = static_cast<std::ptrdiff_t>(layout_.cells), texts = static_cast<std::ptrdiff_t>(layout_.texts);
  std::ptrdiff_t to = 0;
  out.lines.clear();
  for (std::size_t row = 0; row < out.rows; ++row) {
    if (alive_[row] == 0) continue;
    const auto from = static_cast<std::ptrdiff_t>(row);
    std::copy_n(out.cells.begin() + from * cells, cells, out.cells.begin() + to * cells);
    std::copy_n(out.texts.begin() + from * texts, texts, out.texts.begin() + to * texts);
    const std::uint64_t line = fields.line_of(row);
    if (out.lines.empty() || out.lines.back().line + (static_cast<std::size_t>(to) - out.lines.back().row) != line)
      out.lines.push_back({static_cast<std::size_t>(to), line});
    ++to;
  }
  out.rows = static_cast<std::size_t>(to);
  // Keep the first error of each row. Rows with an error of `fields` are not converted, so they have none here.
  std::stable_sort(own_bad_.begin(), own_bad_.end(), [](const BadField& a, const BadField& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.field < b.field;
  });
  const auto end = std::unique(own_bad_.begin(), own_bad_.end(),
                               [](const BadField& a, const BadField& b) { return a.begin == b.begin; });
  out.bad.insert(out.bad.end(), std::make_move_iterator(own_bad_.begin()), std::make_move_iterator(end));
  std::stable_sort(out.bad.begin(), out.bad.end(),
                   [](const BadField& a, const BadField& b) { return a.begin < b.begin; });
}

void Converter::categories(const Fields& fields, const FileLayout& file, ConvertedRows& out) {
  const auto cells = static_cast<std::size_t>(layout_.cells);
  for (const FileLayout::Place& place : file.categories) {
    WordTable& words = *words_[static_cast<std::size_t>(place.column)];
    std::size_t to = place.slot;
    for (std::size_t row = 0; row < fields.rows(); ++row) {
      if (alive_[row] == 0) continue;
      std::string_view text = fields.field(row, place.field);
      if (!is_plain_field(text)) text = unquoted_text(text);
      const std::int32_t code = words.find(text.data(), text.size());
      out.cells[to].code = code;
      if (code <= WordTable::kNew) out.fresh.push_back(to);
      to += cells;
    }
  }
}

}  // namespace dptrain::data::table
