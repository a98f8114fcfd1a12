#include "table/look.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "table/blocks.h"
#include "table/column_sample.h"
#include "table/layout.h"
#include "table/row.h"

namespace dptrain::table {
namespace {

constexpr std::size_t kBlockBytes = 256 << 10;
constexpr std::size_t kMostBytes = 64 << 20;  // of a row, and of the sample

using Files = std::vector<std::shared_ptr<const FileBytes>>;

/// The first rows of a file, without its header.
struct Sample {
  std::vector<std::string> names;  // none before the first row
  std::vector<ColumnSample> columns;
  std::int64_t rows = 0, bad_rows = 0;
  bool all = false;
};

void add_row(const Row& row, const std::unordered_set<std::string>& missing, Sample& sample) {
  if (sample.names.empty()) {
    for (std::size_t i = 0; i < row.fields.size(); ++i) sample.names.push_back(column_name(i));
  }
  sample.columns.resize(sample.names.size());
  if (!row.sound || row.fields.size() != sample.names.size()) {
    ++sample.bad_rows;
    return;
  }
  ++sample.rows;
  for (std::size_t i = 0; i < row.fields.size(); ++i)
    sample.columns[i].add(row.fields[i], missing.contains(row.fields[i]));
}

Sample take_sample(Blocks& blocks, const Dialect& dialect, const LookOptions& options) {
  Sample sample;
  if (dialect.header) {
    sample.names = blocks.take_header(dialect.separator);
    settle_names(sample.names, blocks.bytes().name());
  }
  sample.columns.resize(sample.names.size());
  const std::unordered_set<std::string> missing(options.missing.begin(), options.missing.end());
  const auto enough = [&](std::size_t taken) {
    return sample.rows >= options.rows && static_cast<std::int64_t>(taken) >= options.bytes;
  };
  for (std::size_t taken = 0, wanted = kBlockBytes;; wanted = 2 * std::max(wanted, taken)) {
    const std::string_view text = blocks.beginning(wanted);
    while (taken < text.size() && !enough(taken)) {
      const Row row = take_row(text.substr(taken), dialect.separator, blocks.ended());
      if (!row.whole && !row.sound && (blocks.ended() || text.size() >= kMostBytes)) {  // a quote that does not end
        taken += line_size(text.substr(taken));
        ++sample.bad_rows;
        continue;
      }
      if (!row.whole && !(blocks.ended() && row.sound)) break;
      if (!row.fields.empty()) add_row(row, missing, sample);
      taken += row.end;
    }
    sample.all = blocks.ended() && taken == text.size();
    if (blocks.ended() || enough(taken) || wanted >= kMostBytes) return sample;
  }
}

void check_declared(const LookOptions& options, const std::vector<std::string>& names) {
  for (const auto& [name, type] : options.declared)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Error(ErrorKind::kUsage, fmt::format("column '{}' is declared ({}), and the files have none of that name{}",
                                                 printable(name), type_name(type), did_you_mean(name, names)));
}

/// The formats that the wish leaves.
NumberMarks allowed_marks(const DialectWish& wish) {
  NumberMarks marks = 0;
  for (std::size_t i = 0; i < kNumberMarks.size(); ++i) {
    const auto [decimal, thousands] = kNumberMarks[i];
    if (wish.decimal.value_or(decimal) == decimal && wish.thousands.value_or(thousands) == thousands) marks |= 1U << i;
  }
  return marks;
}

/// Chooses the formats of numbers of all columns.
void settle_numbers(std::vector<ColumnSample>& columns, const DialectWish& wish) {
  NumberChoice choice{.allowed = allowed_marks(wish)};
  bool comma = false, point = false;  // some column has this mark and no other one
  for (ColumnSample& column : columns) {
    const char decimal = column.settle(choice).decimal;
    if (!column.are_numbers()) continue;
    comma = comma || decimal == ',';
    point = point || decimal == '.';
  }
  if (comma == point) return;
  choice.preferred = comma ? ',' : '.';
  for (ColumnSample& column : columns) column.settle(choice);
}

Column column_of(const std::string& name, const ColumnSample& sample, const LookOptions& options,
                 const std::string& file) {
  Column column{.name = name};
  const auto declared = options.declared.find(name);
  column.type = declared != options.declared.end() ? declared->second : sample.type(name);
  column.numbers = sample.numbers();
  column.form = sample.form().value_or(DateForm::kIso);
  column.kept = column.type != ColumnType::kId;
  if (column.type == ColumnType::kDate && sample.ambiguous_dates())
    throw Error(ErrorKind::kData,
                fmt::format("{}: column '{}' is declared a date, and {} may have the day or the "
                            "month first; expected one above 12 in the "
                            "first rows, or dates as 2026-11-25",
                            file, printable(name), found(sample.facts(column.type, false).examples[0])));
  return column;
}

/// Whether a file's header has the columns of the first one's, in whatever order.
void check_header(const FileBytes& file, std::vector<std::string> names, std::vector<std::string> expected,
                  const std::string& first) {
  std::sort(names.begin(), names.end());
  std::sort(expected.begin(), expected.end());
  std::vector<std::string> lacks, more;
  std::set_difference(expected.begin(), expected.end(), names.begin(), names.end(), std::back_inserter(lacks));
  std::set_difference(names.begin(), names.end(), expected.begin(), expected.end(), std::back_inserter(more));
  if (!lacks.empty())
    throw Error(ErrorKind::kData,
                fmt::format("{}:1:1: found no column '{}' in the header, expected the columns of {}{}", file.name(),
                            printable(lacks[0]), first, did_you_mean(lacks[0], more)));
  if (!more.empty())
    throw Error(ErrorKind::kData,
                fmt::format("{}:1:1: found a column '{}' in the header, expected the columns of {} alone", file.name(),
                            printable(more[0]), first));
}

Blocks blocks_of(const std::shared_ptr<const FileBytes>& file) { return {bytes_of(file), {kBlockBytes, kMostBytes}}; }

}  // namespace

Looked look(const Files& files, const LookOptions& options) {
  if (files.empty()) throw Error(ErrorKind::kData, "no file of rows is named");
  const std::string& first = files[0]->name();
  Blocks blocks = blocks_of(files[0]);
  Looked looked;
  looked.schema.missing = options.missing;
  looked.schema.dialect = detect_dialect(blocks.beginning(kBlockBytes), options.dialect);
  const Dialect& dialect = looked.schema.dialect;
  Sample sample = take_sample(blocks, dialect, options);
  if (sample.names.empty()) throw Error(ErrorKind::kData, first + ": is empty, expected rows");
  refuse_columns(sample.names.size(), first + ": ");
  check_declared(options, sample.names);
  settle_numbers(sample.columns, options.dialect);
  for (std::size_t i = 0; i < sample.names.size(); ++i) {
    looked.schema.columns.push_back(column_of(sample.names[i], sample.columns[i], options, first));
    looked.facts.push_back(sample.columns[i].facts(looked.schema.columns.back().type, options.ranges));
  }
  looked.rows = sample.rows;
  looked.bad_rows = sample.bad_rows;
  looked.all = sample.all && files.size() == 1;
  for (std::size_t i = 1; dialect.header && i < files.size(); ++i) {
    Blocks other = blocks_of(files[i]);
    std::vector<std::string> names = other.take_header(dialect.separator);
    settle_names(names, files[i]->name());
    check_header(*files[i], std::move(names), sample.names, first);
  }
  return looked;
}

Looked look(const std::vector<std::string>& files, const LookOptions& options) {
  return look(open_files(files), options);
}

}  // namespace dptrain::table
