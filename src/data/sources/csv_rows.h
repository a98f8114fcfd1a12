#pragma once

// The rows of a CSV data set in memory, their labels, and the plan by which columns become inputs.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/sources/csv_learned.h"
#include "data/sources/labelled_source.h"
#include "data/table/reader.h"
#include "data/table/table.h"

namespace dptrain::data {

struct CsvRows {
  table::Table table;
  /// What goes where. Columns have no `learned` before they have learned; those that are read with a model have its.
  CsvLearned plan;
  std::vector<std::int64_t> rows{};  ///< of the table that are samples; empty: all of them
  std::vector<LabelColumn> labels{};
  std::vector<float> sample_weights{};
  std::shared_ptr<BadSamples> bad{};  ///< null: none may be left out
  std::string place{}, fingerprint{}, cache_key{};

  std::int64_t size() const { return rows.empty() ? table.rows() : static_cast<std::int64_t>(rows.size()); }
  std::int64_t row_of(std::int64_t sample) const {
    return rows.empty() ? sample : rows[static_cast<std::size_t>(sample)];
  }
};

/// As an account of bad samples has it.
BadSample bad_sample(const table::BadRow& row);

/// Whether a file's name has * or ?.
bool is_pattern(std::string_view path);
/// The files that paths and patterns name, those of a pattern sorted. Throws Error{kData} for a pattern without any.
std::vector<std::string> csv_files(const std::vector<config::Path>& paths);

/// Which columns are which inputs follows from the config; where that says nothing, from the model: several inputs that
/// are all named like columns are these, and a single one gets all columns but labels, sample weights, ids and texts.
/// With `learned` ("": nothing yet) all of it is as it was. Throws Error{kData, kUsage, kCheckpoint}.
std::shared_ptr<const CsvRows> read_csv(const CSVSpec& spec, const ModelSide& model);

}  // namespace dptrain::data
