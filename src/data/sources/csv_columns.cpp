#include "data/sources/csv_columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "data/table/date.h"
#include "data/table/fields.h"

namespace dptrain::data {
namespace {

constexpr std::size_t kBlock = 4096;  // numbers at a time

class CsvTrainingColumn final : public TrainingColumn {
 public:
  CsvTrainingColumn(const CsvRows& rows, const std::vector<std::int64_t>& samples, const CsvStatistics& found,
                    int column)
      : rows_(rows), samples_(samples), column_(column), cell_(rows.table.cell_of(column)) {
    if (cell_ >= 0) found_ = &found[static_cast<std::size_t>(cell_)];
  }

  std::int64_t rows() const override { return static_cast<std::int64_t>(samples_.size()); }

  void numbers(const std::function<void(std::span<const double>)>& take) const override {
    const bool dates = rows_.table.schema().columns[static_cast<std::size_t>(column_)].type == table::ColumnType::kDate;
    std::array<double, kBlock> block;
    for (std::size_t first = 0; first < samples_.size(); first += kBlock) {
      const std::size_t count = std::min(kBlock, samples_.size() - first);
      for (std::size_t i = 0; i < count; ++i) block[i] = as_number(cell(samples_[first + i]), dates);
      take(std::span(block).first(count));
    }
  }

  std::optional<NumberSums> sums() const override { return found_->sums; }

  std::vector<Word> words() const override {
    const std::vector<std::string>& all = rows_.table.words(column_);
    std::vector<Word> words;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (found_->counts[i] > 0) words.push_back({all[i], found_->counts[i]});
    return words;
  }
  std::int64_t missing_words() const override { return found_->missing_words; }

  void texts(const std::function<void(std::string_view)>& take) const override {
    std::string text;
    for (const std::int64_t sample : samples_) {
      text.clear();
      rows_.table.append_text(column_, rows_.row_of(sample), text);
      take(text);
    }
  }

 private:
  const table::Cell& cell(std::int64_t sample) const { return rows_.table.row(rows_.row_of(sample))[cell_]; }

  const CsvRows& rows_;
  const std::vector<std::int64_t>& samples_;
  int column_, cell_;
  const ColumnStatistics* found_ = nullptr;  ///< null for texts
};

}  // namespace

std::unique_ptr<TrainingColumn> training_column(const CsvRows& rows, const std::vector<std::int64_t>& samples,
                                                const CsvStatistics& found, const std::string& name) {
  return std::make_unique<CsvTrainingColumn>(rows, samples, found, rows.table.schema().find(name));
}

CsvFeature::CsvFeature(std::shared_ptr<const CsvRows> rows, const CsvLayout::Column& column)
    : rows_(std::move(rows)),
      name_(column.name),
      encoder_(restore(column.encoder, nlohmann::json::parse(column.fitted_state))) {
  const table::Table& table = rows_->table;
  column_ = table.schema().find(name_);
  cell_ = table.cell_of(column_);
  switch (encoder_->reads()) {
    case table::ColumnType::kDate: dates_ = true; [[fallthrough]];
    case table::ColumnType::kNumber: numbers_ = static_cast<const NumberEncoder*>(encoder_.get()); return;
    case table::ColumnType::kText:
      files_ = dynamic_cast<const FileEncoder*>(encoder_.get());
      if (files_ == nullptr) texts_ = static_cast<const TextEncoder*>(encoder_.get());
      return;
    default: words_ = static_cast<const WordEncoder*>(encoder_.get());
  }
  const std::vector<std::string>& words = table.words(column_);
  for (std::size_t code = 0; code < words.size(); ++code) {
    try {
      index_of_code_.push_back(words_->index(words[code]));
    } catch (const Error& error) {
      for (std::int64_t row = 0; row < table.rows(); ++row)
        if (std::cmp_equal(table.row(row)[cell_].code, code)) fail(row, error);
      throw;
    }
  }
  const auto is_unknown = [this](std::int32_t index) { return words_->is_unknown(index); };
  if (std::ranges::none_of(index_of_code_, is_unknown)) return;
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    const std::int32_t code = table.row(row)[cell_].code;
    if (code >= 0 && is_unknown(index_of_code_[static_cast<std::size_t>(code)])) ++unknown_;
  }
}

void CsvFeature::encode(std::int64_t row, float* out) const {
  try {
    if (numbers_ != nullptr)
      numbers_->encode(number(row), out);
    else if (words_ != nullptr)
      words_->encode(word_index(row), out);
    else
      texts_->encode(text(row), out);
  } catch (const Error& error) {
    fail(row, error);
  }
}

void CsvFeature::encode_ids(std::int64_t row, std::int32_t* out) const {
  try {
    if (numbers_ != nullptr)
      numbers_->encode_ids(number(row), out);
    else if (words_ != nullptr)
      *out = word_index(row);
    else
      texts_->encode_ids(text(row), out);
  } catch (const Error& error) {
    fail(row, error);
  }
}

std::string CsvFeature::path(std::int64_t row) const {
  const std::string cell = text(row);
  const std::string name(table::trimmed(cell));
  if (name.empty() || std::ranges::find(rows_->table.schema().missing, name) != rows_->table.schema().missing.end())
    return "";
  const std::filesystem::path folder = std::filesystem::path(rows_->table.file(row)).parent_path();
  return (folder / name).string();  // `name` alone if it is absolute
}

template <class F>
void CsvFeature::with_file(std::int64_t row, const F& use) const {
  const auto bad = [&](const std::string& reason) {
    return SampleError({.file = rows_->table.place(row),
                        .byte = -1,
                        .reason = fmt::format("column '{}': {}", printable(name_), reason)});
  };
  const std::string file = path(row);
  if (file.empty()) throw bad(fmt::format("found nothing, expected the path of {}", files_->what()));
  try {
    use(file);
  } catch (const SampleError& error) {
    throw bad(error.what());
  }
}

void CsvFeature::read(std::int64_t row, const ReadHint& hint, Array& out) const {
  with_file(row, [&](const std::string& file) { files_->read(file, hint, out); });
}

std::optional<ClipInfo> CsvFeature::inspect(std::int64_t row) const {
  std::optional<ClipInfo> info;
  with_file(row, [&](const std::string& file) { info = files_->inspect(file); });
  return info;
}

void CsvFeature::require_files() const {
  constexpr std::int64_t kCheckedRows = 16;
  const std::int64_t rows = rows_->size(), checked = std::min(rows, kCheckedRows);
  std::int64_t first = -1;
  std::error_code ignored;
  for (std::int64_t i = 0; i < checked; ++i) {
    const std::int64_t row = rows_->row_of(i * rows / checked);
    const std::string file = path(row);
    if (!file.empty() && std::filesystem::exists(file, ignored)) return;
    if (first < 0 && !file.empty()) first = row;
  }
  if (first < 0) return;
  throw Error(ErrorKind::kData,
              fmt::format("{}: column '{}': no such file: {}, and no file of the {} checked exists; expected "
                          "absolute paths, or paths relative to the folder of the table",
                          rows_->table.place(first), printable(name_), path(first), counted(checked, "row")));
}

std::string CsvFeature::line(std::size_t width) const {
  return fmt::format("{:<{}}  {:<9} {}; {}", printable(name_), width, table::type_name(encoder_->reads()), contents(),
                     encoder_->describe());
}

std::string CsvFeature::line_of(std::int64_t row, std::size_t width) const {
  const std::string left = fmt::format("{:<{}}  {} ->", printable(name_), width, cell_text(row));
  if (files_ != nullptr) {
    const Shape shape = files_->peek(path(row));
    return left + " " + (shape.rank() > 0 ? shape.str() : fmt::format("cannot be read as {}", files_->what()));
  }
  if (words_ != nullptr) return fmt::format("{} word {} of {}", left, word_index(row), encoder_->id_limit());
  std::vector<float> numbers(static_cast<std::size_t>(encoder_->floats()));
  std::vector<std::int32_t> ids(static_cast<std::size_t>(encoder_->ids()));
  std::string right;
  if (!numbers.empty()) {
    encode(row, numbers.data());
    for (const float value : numbers) right += fmt::format(" {:.5g}", value);
  } else {
    encode_ids(row, ids.data());
    for (const std::int32_t id : ids) right += fmt::format(" {}", id);
  }
  return left + right;
}

std::string CsvFeature::cell_text(std::int64_t row) const {
  if (texts_ != nullptr || files_ != nullptr) return printable(std::string(table::trimmed(text(row))));
  if (words_ != nullptr) {
    const std::int32_t code = rows_->table.row(row)[cell_].code;
    return code < 0 ? "(missing)" : printable(rows_->table.words(column_)[static_cast<std::size_t>(code)]);
  }
  const double value = number(row);
  if (std::isnan(value)) return "(missing)";
  return dates_ ? table::date_text(static_cast<std::int32_t>(value)) : shortest(static_cast<float>(value));
}

std::string CsvFeature::contents() const {
  const table::Table& table = rows_->table;
  std::int64_t missing = 0;
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (std::int64_t row = 0; (numbers_ != nullptr || words_ != nullptr) && row < table.rows(); ++row) {
    const bool is_missing = words_ != nullptr ? table.row(row)[cell_].code < 0 : std::isnan(number(row));
    if (is_missing)
      ++missing;
    else if (numbers_ != nullptr)
      least = std::min(least, number(row)), most = std::max(most, number(row));
  }
  const std::string missed = missing > 0 ? fmt::format(", {} missing", with_commas(missing)) : "";
  if (texts_ != nullptr) return "texts";
  if (files_ != nullptr) return "paths";
  if (words_ != nullptr)
    return fmt::format("{} distinct{}", with_commas(static_cast<std::int64_t>(index_of_code_.size())), missed);
  if (least > most) return "nothing but missing values";
  if (!dates_) return fmt::format("{:.6g} to {:.6g}{}", least, most, missed);
  return fmt::format("{} to {}{}", table::date_text(static_cast<std::int32_t>(least)),
                     table::date_text(static_cast<std::int32_t>(most)), missed);
}

double CsvFeature::number(std::int64_t row) const { return as_number(rows_->table.row(row)[cell_], dates_); }

std::int32_t CsvFeature::word_index(std::int64_t row) const {
  const std::int32_t code = rows_->table.row(row)[cell_].code;
  return code < 0 ? words_->missing_index() : index_of_code_[static_cast<std::size_t>(code)];
}

std::string CsvFeature::text(std::int64_t row) const {
  std::string text;
  rows_->table.append_text(column_, row, text);
  return text;
}

void CsvFeature::fail(std::int64_t row, const Error& error) const {
  throw Error(error.kind(), fmt::format("{}: column '{}': {}", rows_->table.place(row), name_, error.what()));
}

}  // namespace dptrain::data
