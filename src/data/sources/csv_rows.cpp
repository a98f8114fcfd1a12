#include "data/sources/csv_rows.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/text.h"
#include "data/sources/csv_labels.h"
#include "data/sources/csv_plan.h"
#include "data/sources/file_stamp.h"
#include "table/look.h"
#include "table/read.h"

namespace dptrain::data {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kRowsInFingerprint = 1000;

std::vector<std::string> files_like(const std::string& pattern) {
  const fs::path path(pattern);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (is_pattern(folder.string()))
    throw Error(ErrorKind::kUsage, fmt::format("{}: only the name of the file may have * and ?", pattern));
  std::vector<std::string> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.is_regular_file() && glob_match(path.filename().string(), entry.path().filename().string()))
      found.push_back((path.has_parent_path() ? entry.path() : entry.path().filename()).string());
  if (found.empty()) throw Error(ErrorKind::kData, fmt::format("{}: no file has such a name", pattern));
  std::ranges::sort(found);
  return found;
}

/// Sizes of the files, and some of the rows, evenly.
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
          .words = row.column.empty() ? row.words : fmt::format("column '{}': {}", row.column, row.words)};
}

bool is_pattern(std::string_view path) { return path.find_first_of("*?") != std::string_view::npos; }

std::vector<std::string> csv_files(const std::vector<config::Path>& paths) {
  std::vector<std::string> files;
  for (const config::Path& path : paths) {
    if (!is_pattern(path.value))
      files.push_back(path.value);
    else
      for (std::string& file : files_like(path.value)) files.push_back(std::move(file));
  }
  return files;
}

std::shared_ptr<const CsvRows> read_csv(const CSVSpec& spec, const ModelSide& model) {
  const std::vector<std::string> files = csv_files(spec.files);
  CsvPlan plan = model.learned.empty() ? plan_by_looking(spec, model, files) : plan_as_fitted(spec, model, files, true);
  std::vector<table::BadRow> bad;
  table::ReadOptions options;
  options.threads = machine::cpus();
  options.skip = spec.on_error.skip;
  options.on_bad = [&bad](const table::BadRow& row) { bad.push_back(row); };

  auto rows = std::make_shared<CsvRows>();
  rows->table = table::read(files, plan.schema, options);
  rows->plan = std::move(plan.learned);
  if (rows->size() == 0 && bad.empty()) throw Error(ErrorKind::kData, fmt::format("{}: has no rows", files.front()));
  if (rows->size() == 0)
    throw Error(ErrorKind::kData,
                fmt::format("{}: no row can be read; the first one: {}", files.front(), bad.front().str()));
  if (model.learned.empty()) choose_encoders(rows->table.schema(), rows->plan);
  put_labels(spec, model, *rows, bad);
  if (spec.on_error.skip || rows->plan.names_files()) {
    const auto all = rows->size() + static_cast<std::int64_t>(bad.size());
    rows->bad = std::make_shared<BadSamples>(spec.on_error, all, files.front(), "rows");
    for (const table::BadRow& row : bad) rows->bad->add(bad_sample(row));
  }
  describe_files(*rows, files);
  return rows;
}

}  // namespace dptrain::data
