#include "data/table/sniffer.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/table/blocks.h"
#include "data/table/conversion.h"
#include "data/table/date.h"
#include "data/table/fields.h"
#include "data/table/types.h"

namespace dptrain::data::table {
namespace {

constexpr std::size_t kBlockBytes = 256 << 10;
constexpr std::size_t kMaxBytes = 64 << 20;  // limit of a row, and of the sample

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

Sample take_sample(Blocks& blocks, const Dialect& dialect, const SniffOptions& options) {
  Sample sample;
  if (dialect.header) {
    sample.names = blocks.take_header(dialect.separator);
    complete_names(sample.names, blocks.bytes().name());
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
      if (!row.whole && !row.sound && (blocks.ended() || text.size() >= kMaxBytes)) {  // a quote that does not end
        taken += line_size(text.substr(taken));
        ++sample.bad_rows;
        continue;
      }
      if (!row.whole && !(blocks.ended() && row.sound)) break;
      if (!row.fields.empty()) add_row(row, missing, sample);
      taken += row.end;
    }
    sample.all = blocks.ended() && taken == text.size();
    if (blocks.ended() || enough(taken) || wanted >= kMaxBytes) return sample;
  }
}

void check_declared(const SniffOptions& options, const std::vector<std::string>& names) {
  for (const auto& [name, type] : options.declared)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Error(ErrorKind::kUsage, fmt::format("column '{}' is declared ({}), but the files have no such column{}",
                                                 printable(name), type_name(type), did_you_mean(name, names)));
}

NumberMarks allowed_marks(const DialectHints& hints) {
  NumberMarks marks = 0;
  for (std::size_t i = 0; i < kNumberMarks.size(); ++i) {
    const auto [decimal, thousands] = kNumberMarks[i];
    if (hints.decimal.value_or(decimal) == decimal && hints.thousands.value_or(thousands) == thousands)
      marks |= 1U << i;
  }
  return marks;
}

/// Chooses the formats of numbers of all columns.
void choose_number_formats(std::vector<ColumnSample>& columns, const DialectHints& hints) {
  NumberChoice choice{.allowed = allowed_marks(hints)};
  bool comma = false, point = false;  // some column has this mark and no other one
  for (ColumnSample& column : columns) {
    const char decimal = column.choose_format(choice).decimal;
    if (!column.are_numbers()) continue;
    comma = comma || decimal == ',';
    point = point || decimal == '.';
  }
  if (comma == point) return;
  choice.preferred = comma ? ',' : '.';
  for (ColumnSample& column : columns) column.choose_format(choice);
}

Column column_of(const std::string& name, const ColumnSample& sample, const SniffOptions& options,
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

/// Throws unless a file's header has the columns of the first file, in any order.
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
                fmt::format("{}:1:1: found a column '{}' in the header, expected only the columns of {}", file.name(),
                            printable(more[0]), first));
}

Blocks blocks_of(const std::shared_ptr<const FileBytes>& file) { return {bytes_of(file), {kBlockBytes, kMaxBytes}}; }

}  // namespace

SniffResult sniff(const Files& files, const SniffOptions& options) {
  if (files.empty()) throw Error(ErrorKind::kData, "no files are given");
  const std::string& first = files[0]->name();
  Blocks blocks = blocks_of(files[0]);
  SniffResult detected;
  detected.schema.missing = options.missing;
  detected.schema.dialect = detect_dialect(blocks.beginning(kBlockBytes), options.dialect);
  const Dialect& dialect = detected.schema.dialect;
  Sample sample = take_sample(blocks, dialect, options);
  if (sample.names.empty()) throw Error(ErrorKind::kData, first + ": is empty, expected rows");
  check_column_count(sample.names.size(), first + ": ");
  check_declared(options, sample.names);
  choose_number_formats(sample.columns, options.dialect);
  for (std::size_t i = 0; i < sample.names.size(); ++i) {
    detected.schema.columns.push_back(column_of(sample.names[i], sample.columns[i], options, first));
    detected.facts.push_back(sample.columns[i].facts(detected.schema.columns.back().type, options.ranges));
  }
  detected.rows = sample.rows;
  detected.bad_rows = sample.bad_rows;
  detected.all = sample.all && files.size() == 1;
  for (std::size_t i = 1; dialect.header && i < files.size(); ++i) {
    Blocks other = blocks_of(files[i]);
    std::vector<std::string> names = other.take_header(dialect.separator);
    complete_names(names, files[i]->name());
    check_header(*files[i], std::move(names), sample.names, first);
  }
  return detected;
}

SniffResult sniff(const std::vector<std::string>& files, const SniffOptions& options) {
  return sniff(open_files(files), options);
}

namespace {

constexpr std::size_t kExamples = 5;
/// Cells after which a column without any number (or date) is not one of numbers (or dates).
constexpr std::int64_t kTries = 1000;
constexpr NumberMarks kCommaOrThousands = 0b110;  // 1,234 with a decimal comma, and with groups of thousands

/// "user_123" -> "a_9": equal for names of one pattern. The shape of hexadecimal words is their length.
std::string shape_of(const std::string& text) {
  const auto is_hex = [](unsigned char c) { return std::isxdigit(c) != 0 || c == '-'; };
  if (text.size() >= 8 && std::all_of(text.begin(), text.end(), is_hex))
    return "hexadecimal of " + std::to_string(text.size());
  std::string shape;
  for (const unsigned char c : text) {
    const char kind = std::isdigit(c) != 0 ? '9' : std::isalpha(c) != 0 || c >= 0x80 ? 'a' : static_cast<char>(c);
    if (shape.empty() || shape.back() != kind) shape.push_back(kind);
  }
  return shape;
}

bool is_name_of_ids(std::string name) {
  const bool camel = name.size() > 2 && (name.ends_with("Id") || name.ends_with("ID"));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return camel || name == "id" || name == "index" || name == "uuid" || name == "guid" || name == "key" ||
         name.ends_with("_id") || name.ends_with(" id") || name.ends_with("-id");
}

}  // namespace

void ColumnSample::add(const std::string& text, bool missing) {
  if (missing) {
    ++missing_;
    return;
  }
  ++filled_;
  bytes_ += static_cast<std::int64_t>(text.size());
  spaces_ += std::count(text.begin(), text.end(), ' ');
  if (running_) add_running(text);
  if (numbers_ > 0 || filled_ <= kTries) add_number(text);
  add_date(text);
  if (one_shape_) {
    const std::string shape = shape_of(text);
    if (filled_ == 1) shape_ = shape;
    one_shape_ = shape == shape_;
  }
  if (distinct_.insert(text).second && examples_.size() < kExamples) examples_.push_back(text);
}

void ColumnSample::add_running(const std::string& text) {
  double value = 0;
  running_ = read_number(text, value) == NumberFault::kNone && std::floor(value) == value &&
             text.find_first_of(".eE") == std::string::npos && (!before_ || value == *before_ + 1);
  before_ = value;
  if (!first_) first_ = value;
}

void ColumnSample::add_number(const std::string& text) {
  const std::string_view sign = sign_in(text);
  const NumberMarks marks = marks_of(text, sign);
  if (marks == 0) return;
  ++numbers_;
  auto place = std::ranges::find(signs_, sign, &Sign::sign);
  if (place == signs_.end()) place = signs_.insert(place, {.sign = std::string(sign)});
  for (std::size_t i = 0; i < place->fitting.size(); ++i) place->fitting[i] += (marks >> i) & 1U;
}

void ColumnSample::add_date(const std::string& text) {
  for (std::size_t f = 0; f < dates_.size(); ++f)
    if ((dates_[f] > 0 || filled_ <= kTries) && read_date(text, static_cast<DateForm>(f))) ++dates_[f];
}

bool ColumnSample::is_nearly_all(std::int64_t cells) const {
  constexpr std::int64_t kFew = 20;  // with fewer cells all must be of the type
  return filled_ > 0 && (cells == filled_ || (filled_ >= kFew && cells * 100 >= filled_ * 95));
}

NumberGuess ColumnSample::choose_format(const NumberChoice& choice) {
  guess_ = {};
  NumberMarks best = choice.allowed;  // formats that fit the most cells
  for (const Sign& sign : signs_)
    for (std::size_t i = 0; i < kNumberMarks.size(); ++i)
      if (((choice.allowed >> i) & 1U) != 0 && sign.fitting[i] > guess_.numbers) {
        guess_.numbers = sign.fitting[i];
        guess_.format.sign = sign.sign;
      }
  if (guess_.numbers > 0) {
    const Sign& sign = *std::ranges::find(signs_, guess_.format.sign, &Sign::sign);
    for (std::size_t i = 0; i < kNumberMarks.size(); ++i)
      if (sign.fitting[i] < guess_.numbers) best &= ~(1U << i);
  }
  const NumberMarks points = best & kPointMarks, commas = best & ~kPointMarks;
  if (guess_.numbers > 0 && (commas == 0 || points == 0)) guess_.decimal = commas != 0 ? ',' : '.';
  const NumberMarks preferred = choice.preferred == ',' ? commas : choice.preferred == '.' ? points : 0;
  guess_.ambiguous = preferred == 0 && (best & 1U) == 0 && (best & kCommaOrThousands) == kCommaOrThousands;
  const auto first = static_cast<std::size_t>(std::countr_zero(preferred != 0 ? preferred : best));
  guess_.format = number_format(first, guess_.format.sign);
  return guess_;
}

std::optional<DateForm> ColumnSample::form() const {
  if (ambiguous_dates()) return std::nullopt;
  std::optional<DateForm> best;
  for (const DateForm form : {DateForm::kIso, DateForm::kDayFirst, DateForm::kMonthFirst})
    if (fits(form) && (!best || of_form(form) > of_form(*best))) best = form;
  return best;
}

bool ColumnSample::is_id(const std::string& name) const {
  constexpr std::int64_t kFew = 20;  // with fewer cells all may differ by chance
  if (filled_ < kFew || missing_ > 0 || static_cast<std::int64_t>(distinct_.size()) < filled_) return false;
  // Row numbers begin at 0 or 1. Years are consecutive, too.
  if (are_numbers()) {
    ColumnFacts facts;
    if (is_name_of_ids(name)) put_range(ColumnType::kNumber, facts);
    return (running_ && *first_ <= 1) || facts.whole;
  }
  const bool made_alike = one_shape_ && (shape_.find('9') != std::string::npos || shape_.starts_with("hexadecimal"));
  return spaces_ == 0 && (made_alike || is_name_of_ids(name));
}

bool ColumnSample::is_text() const {
  constexpr std::int64_t kLong = 64;
  return 2 * static_cast<std::int64_t>(distinct_.size()) > filled_ && (spaces_ >= filled_ || bytes_ >= kLong * filled_);
}

ColumnType ColumnSample::type(const std::string& name) const {
  if (filled_ == 0) return ColumnType::kCategory;
  if (!are_numbers() && form()) return ColumnType::kDate;  // even if all differ
  if (is_id(name)) return ColumnType::kId;
  if (are_numbers()) return ColumnType::kNumber;
  return is_text() ? ColumnType::kText : ColumnType::kCategory;
}

ColumnFacts ColumnSample::facts(ColumnType type, bool ranges) const {
  ColumnFacts facts;
  facts.filled = filled_;
  facts.missing = missing_;
  facts.distinct = static_cast<std::int64_t>(distinct_.size());
  facts.numbers = are_numbers();
  if (facts.numbers && ranges)
    put_range(ColumnType::kNumber, facts);
  else if (ranges && form())
    put_range(ColumnType::kDate, facts);
  if (type == ColumnType::kNumber) facts.mismatches = filled_ - guess_.numbers;
  if (type == ColumnType::kDate) facts.mismatches = filled_ - of_form(form().value_or(DateForm::kIso));
  facts.mean_length = filled_ > 0 ? static_cast<double>(bytes_) / static_cast<double>(filled_) : 0;
  facts.examples = examples_;
  facts.format_problem = format_problem();
  return facts;
}

void ColumnSample::put_range(ColumnType type, ColumnFacts& facts) const {
  facts.whole = type == ColumnType::kNumber;
  std::optional<double> min, max;
  for (const std::string& text : distinct_) {
    double value = 0;
    if (type == ColumnType::kNumber) {
      if (read_number(text, guess_.format, value) == NumberFault::kNoNumber) continue;
      facts.whole = facts.whole && std::floor(value) == value;
    } else {
      const auto date = read_date(text, *form());
      if (!date) continue;
      value = *date;
    }
    min = std::min(min.value_or(value), value);
    max = std::max(max.value_or(value), value);
  }
  facts.min = min.value_or(0);
  facts.max = max.value_or(0);
}

std::string ColumnSample::format_problem() const {
  if (are_numbers() && guess_.ambiguous)
    return fmt::format(
        "{}, which has a decimal comma or groups of thousands; write `decimal: \",\"` or `thousands: \",\"`",
        found(examples_[0]));
  if (are_numbers() || form() || !is_nearly_all(numbers_)) return "";
  // The alphabetically first of each kind.
  std::string one, other;
  for (const std::string& text : distinct_) {
    const std::string_view sign = sign_in(text);
    if (marks_of(text, sign) == 0) continue;
    double ignored = 0;
    std::string& least = read_number(text, guess_.format, ignored) == NumberFault::kNone ? one : other;
    if (least.empty() || text < least) least = text;
  }
  if (one.empty()) return found(other) + ", which is not a number with the given `decimal` and `thousands`";
  return fmt::format(
      "{} and '{}', which are numbers in different formats; write all with one decimal mark and one sign", found(one),
      printable(other));
}

}  // namespace dptrain::data::table
