#include "data/sources/csv_rows.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <numeric>
#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/memory.h"
#include "core/text.h"
#include "data/sources/csv_plan.h"
#include "data/sources/file_list.h"
#include "data/table/reader.h"
#include "data/table/sniffer.h"

namespace dptrain::data {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kClassesInMessages = 10;
constexpr float kClassLimit = 0x1p24F;  // floats cannot hold all integers above this

/// Sorts by value if all words are numbers, else by bytes.
std::vector<std::string> sorted_words(std::vector<std::string> words) {
  std::map<std::string, double> numbers;
  for (const std::string& word : words)
    if (const auto number = parse_number<double>(word)) numbers[word] = *number;
  std::ranges::sort(words);
  if (numbers.size() == words.size())
    std::ranges::stable_sort(words, {}, [&](const std::string& word) { return numbers.at(word); });
  return words;
}

std::string listed(const std::vector<std::string>& classes) {
  std::vector<std::string> some(
      classes.begin(), classes.begin() + static_cast<std::ptrdiff_t>(std::min(classes.size(), kClassesInMessages)));
  for (std::string& name : some) name = printable(name);
  return join(some, ", ") + (classes.size() > some.size() ? ", ..." : "");
}

/// A label column of words, and the class of each code.
struct Classes {
  const table::Table& table;
  int column, cell;
  std::vector<std::string> names;
  std::vector<std::int32_t> of_code{};  // -1: none

  Classes(const table::Table& from, int which, std::vector<std::string> known)
      : table(from), column(which), cell(from.cell_of(which)), names(std::move(known)) {
    const std::vector<std::string>& words = table.words(column);
    if (names.empty()) names = sorted_words(words);
    std::map<std::string_view, std::int32_t> places;
    for (std::size_t i = 0; i < names.size(); ++i) places.emplace(names[i], static_cast<std::int32_t>(i));
    for (const std::string& word : words) {
      const auto found = places.find(word);
      of_code.push_back(found == places.end() ? -1 : found->second);
    }
  }

  bool knows(std::int32_t code) const { return code >= 0 && of_code[static_cast<std::size_t>(code)] >= 0; }
  /// The reason why the row cannot be a sample, or "".
  std::string error_of(std::int64_t row) const {
    const std::int32_t code = table.row(row)[cell].code;
    if (code < 0) return "the label is missing";
    if (of_code[static_cast<std::size_t>(code)] >= 0) return "";
    return fmt::format("'{}' is not one of the {} classes {}{}",
                       printable(table.words(column)[static_cast<std::size_t>(code)]), names.size(), listed(names),
                       did_you_mean(table.words(column)[static_cast<std::size_t>(code)], names));
  }
  std::int32_t at(std::int64_t row) const { return of_code[static_cast<std::size_t>(table.row(row)[cell].code)]; }
};

class LabelReader {
 public:
  LabelReader(const CSVSpec& spec, const ModelSide& model, CsvRows& rows)
      : model_(model), rows_(rows), table_(rows.table) {
    for (CsvLayout::Label& label : rows.layout.labels) {
      if (label.mask) continue;
      const int column = column_of(label.columns.front());
      if (type_of(column) != table::ColumnType::kCategory) {
        for (const std::string& name : label.columns)
          numbers_.push_back({.name = name, .cell = table_.cell_of(column_of(name)), .integer = label.integers});
        continue;
      }
      Classes& classes = classes_.emplace_back(table_, column, label.classes);
      label.classes = classes.names;
    }
    if (spec.sample_weight) {
      weight_ = table_.cell_of(column_of(*spec.sample_weight));
      numbers_.push_back({.name = *spec.sample_weight, .cell = weight_, .weight = true});
    }
  }

  /// Returns the rows without a valid label or weight, and appends them to `bad`. Throws Error{kData} for the first one
  /// unless `may_skip`.
  std::vector<std::int64_t> invalid_rows(bool may_skip, std::vector<table::BadRow>& bad) const {
    std::vector<std::int64_t> broken;
    for (std::int64_t row = 0; row < table_.rows(); ++row) {
      if (whole(table_.row(row))) continue;
      std::optional<table::BadRow> error = row_error(row);
      if (!error) continue;
      if (!may_skip) throw Error(ErrorKind::kData, error->str() + " (on_error: skip leaves such rows out)");
      bad.push_back(std::move(*error));
      broken.push_back(row);
    }
    return broken;
  }

  void put() {
    std::size_t of_words = 0;
    for (const CsvLayout::Label& label : rows_.layout.labels) {
      LabelColumn column{.name = label.name, .place = rows_.place};
      if (label.mask)
        column.type = LabelType::kMap;
      else if (label.integers)
        put_integers(label, column);
      else if (label.classes.empty())
        put_values(label, column);
      else
        put_classes(classes_[of_words++], column);
      rows_.labels.push_back(std::move(column));
    }
    if (weight_ < 0) return;
    LabelColumn weights{.place = rows_.place, .type = LabelType::kValues, .width = 1};
    for (std::int64_t i = 0; i < rows_.size(); ++i) weights.values.push_back(cells(i)[weight_].number);
    rows_.sample_weights = sample_weights_of(weights, "row");
  }

 private:
  struct Number {
    std::string name;
    int cell;
    bool integer = false;  ///< a class number
    bool weight = false;   ///< a sample weight
    bool fits(float value) const {
      if (weight) return is_sample_weight(value);
      return integer ? value >= 0 && value < kClassLimit && value == std::floor(value) : !std::isnan(value);
    }
  };

  int column_of(const std::string& name) const { return table_.schema().find(name); }
  table::ColumnType type_of(int column) const { return table_.schema().columns[static_cast<std::size_t>(column)].type; }
  const table::Cell* cells(std::int64_t sample) const { return table_.row(rows_.row_of(sample)); }

  bool whole(const table::Cell* cells) const {
    return std::ranges::all_of(numbers_, [&](const Number& of) { return of.fits(cells[of.cell].number); }) &&
           std::ranges::all_of(classes_, [&](const Classes& of) { return of.knows(cells[of.cell].code); });
  }
  std::optional<table::BadRow> row_error(std::int64_t row) const {
    const auto about = [&](const std::string& column, std::string reason) {
      return table::BadRow{.place = table_.place(row), .column = column, .reason = std::move(reason)};
    };
    for (const Classes& classes : classes_)
      if (std::string words = classes.error_of(row); !words.empty())
        return about(table_.schema().columns[static_cast<std::size_t>(classes.column)].name, std::move(words));
    for (const Number& number : numbers_) {
      const float value = table_.row(row)[number.cell].number;
      if (std::isnan(value))
        return about(number.name, number.weight ? "the sample weight is missing" : "the label is missing");
      if (number.weight && !number.fits(value))
        return about(number.name, fmt::format("the sample weight is {}; expected a number >= 0", shortest(value)));
      if (!number.fits(value))
        return about(number.name, fmt::format("label {} is not a class; expected a whole number from 0 on, or "
                                              "`columns: {{{}: StringLookup}}` for classes of any numbers",
                                              shortest(value), printable(number.name)));
    }
    return std::nullopt;
  }

  void put_classes(const Classes& classes, LabelColumn& column) const {
    column.type = LabelType::kClass;
    column.width = 1;
    reserve_huge(column.classes, static_cast<std::size_t>(rows_.size()));
    for (std::int64_t i = 0; i < rows_.size(); ++i) column.classes.push_back(classes.at(rows_.row_of(i)));
  }
  void put_integers(const CsvLayout::Label& label, LabelColumn& column) const {
    const std::string& name = label.columns.front();
    const int cell = table_.cell_of(column_of(name));
    const std::int64_t classes = model_.classes_of(label.name);
    column.type = LabelType::kClass;
    column.width = 1;
    reserve_huge(column.classes, static_cast<std::size_t>(rows_.size()));
    for (std::int64_t i = 0; i < rows_.size(); ++i) {
      const float value = cells(i)[cell].number;
      if (classes > 0 && value >= static_cast<float>(classes))
        throw Error(ErrorKind::kData,
                    fmt::format("{}: column '{}': label {} is outside 0..{} (the model has {} outputs); "
                                "`columns: {{{}: StringLookup}}` numbers the classes that occur",
                                table_.place(rows_.row_of(i)), printable(name), shortest(value), classes - 1, classes,
                                printable(name)));
      column.classes.push_back(static_cast<std::int32_t>(value));
    }
  }
  void put_values(const CsvLayout::Label& label, LabelColumn& column) const {
    column.type = LabelType::kValues;
    column.width = static_cast<std::int64_t>(label.columns.size());
    reserve_huge(column.values, static_cast<std::size_t>(rows_.size() * column.width));
    std::vector<int> places;
    for (const std::string& name : label.columns) places.push_back(table_.cell_of(column_of(name)));
    for (std::int64_t i = 0; i < rows_.size(); ++i) {
      const table::Cell* const row = cells(i);
      for (const int place : places) column.values.push_back(row[place].number);
    }
  }

  const ModelSide& model_;
  CsvRows& rows_;
  const table::Table& table_;
  std::vector<Classes> classes_;
  std::vector<Number> numbers_;
  int weight_ = -1;
};

/// Fills `rows.labels` and `rows.sample_weights`. A layout without classes gets the column's sorted words. A row with
/// an invalid label or weight throws Error{kData}, or with `on_error: skip` is skipped and added to `bad`. A class
/// number without an output of the model always throws Error{kData}.
void put_labels(const CSVSpec& spec, const ModelSide& model, CsvRows& rows, std::vector<table::BadRow>& bad) {
  LabelReader reader(spec, model, rows);
  const std::vector<std::int64_t> broken = reader.invalid_rows(spec.on_error.skip, bad);
  if (!broken.empty() && std::cmp_equal(broken.size(), rows.table.rows()))
    throw Error(ErrorKind::kData,
                fmt::format("{}: no row can be used; the last one: {}", rows.table.place(0), bad.back().str()));
  if (!broken.empty()) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(rows.table.rows()));
    std::iota(all.begin(), all.end(), 0);
    std::ranges::set_difference(all, broken, std::back_inserter(rows.rows));
  }
  reader.put();
}

constexpr std::int64_t kRowsInFingerprint = 1000;

std::vector<std::string> matching_files(const std::string& pattern) {
  const fs::path path(pattern);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (is_pattern(folder.string()))
    throw Error(ErrorKind::kUsage, fmt::format("{}: * and ? are allowed only in the file name", pattern));
  std::vector<std::string> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.is_regular_file() && glob_match(path.filename().string(), entry.path().filename().string()))
      found.push_back((path.has_parent_path() ? entry.path() : entry.path().filename()).string());
  if (found.empty()) throw Error(ErrorKind::kData, fmt::format("{}: no file matches", pattern));
  std::ranges::sort(found);
  return found;
}

/// Hashes the file sizes, evenly spread rows and all labels.
std::uint64_t hash_of(const CsvRows& rows, const std::vector<std::string>& files) {
  std::uint64_t hash = kHashStart;
  std::error_code ignored;
  for (const std::string& file : files) hash = hash_number(fs::file_size(file, ignored), hash);
  const std::int64_t count = rows.table.rows(), step = std::max<std::int64_t>(1, count / kRowsInFingerprint);
  for (std::int64_t i = 0; i < count; i += step)
    hash = hash_bytes(rows.table.row(i), static_cast<std::size_t>(rows.table.cells()) * sizeof(table::Cell), hash);
  for (const LabelColumn& label : rows.labels) {
    hash = hash_bytes(label.classes.data(), label.classes.size() * sizeof(std::int32_t), hash);
    hash = hash_bytes(label.values.data(), label.values.size() * sizeof(float), hash);
  }
  return hash;
}

void describe_files(CsvRows& rows, const std::vector<std::string>& files) {
  rows.place = files.size() == 1 ? files.front() : fmt::format("{} and {} more", files.front(), files.size() - 1);
  rows.fingerprint = fmt::format("csv:{}:{}:{:016x}", rows.size(), rows.table.cells(), hash_of(rows, files));
  std::uint64_t stamp = kHashStart;
  for (const std::string& file : files) stamp = hash_stamp(file, stamp);
  rows.cache_key = fmt::format("{}, files {:016x}", rows.fingerprint, stamp);
}

}  // namespace

BadSample bad_sample(const table::BadRow& row) {
  return {.file = row.place,
          .byte = -1,
          .reason = row.column.empty() ? row.reason : fmt::format("column '{}': {}", row.column, row.reason)};
}

bool is_pattern(std::string_view path) { return path.find_first_of("*?") != std::string_view::npos; }

std::vector<std::string> csv_files(const std::vector<config::Path>& paths) {
  std::vector<std::string> files;
  for (const config::Path& path : paths) {
    if (!is_pattern(path.value))
      files.push_back(path.value);
    else
      for (std::string& file : matching_files(path.value)) files.push_back(std::move(file));
  }
  return files;
}

std::shared_ptr<const CsvRows> read_csv(const CSVSpec& spec, const ModelSide& model) {
  const std::vector<std::string> files = csv_files(spec.files);
  CsvPlan plan =
      model.fitted_state.empty() ? plan_from_detection(spec, model, files) : plan_as_fitted(spec, model, files, true);
  std::vector<table::BadRow> bad;
  table::ReadOptions options;
  options.threads = machine::cpus();
  options.skip = spec.on_error.skip;
  options.on_bad = [&bad](const table::BadRow& row) { bad.push_back(row); };

  auto rows = std::make_shared<CsvRows>();
  rows->table = table::read(files, plan.schema, options);
  rows->layout = std::move(plan.layout);
  if (rows->size() == 0 && bad.empty()) throw Error(ErrorKind::kData, fmt::format("{}: has no rows", files.front()));
  if (rows->size() == 0)
    throw Error(ErrorKind::kData,
                fmt::format("{}: no row can be read; the first one: {}", files.front(), bad.front().str()));
  if (model.fitted_state.empty()) choose_encoders(rows->table.schema(), rows->layout);
  put_labels(spec, model, *rows, bad);
  if (spec.on_error.skip || rows->layout.has_file_columns()) {
    const auto all = rows->size() + static_cast<std::int64_t>(bad.size());
    rows->bad = std::make_shared<BadSamples>(spec.on_error, all, files.front(), "rows");
    for (const table::BadRow& row : bad) rows->bad->add(bad_sample(row));
  }
  describe_files(*rows, files);
  return rows;
}

}  // namespace dptrain::data
