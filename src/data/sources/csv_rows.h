#pragma once

// CsvRows: the rows of a CSV data set in memory, their labels, and the layout that maps columns to inputs.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/sources/csv_layout.h"
#include "data/sources/labelled_source.h"
#include "data/table/reader.h"
#include "data/table/table.h"

namespace dptrain::data {

struct CsvRows {
  table::Table table;
  CsvLayout layout;                  ///< `fitted_state` of a column is empty until it is fitted or taken from a model
  std::vector<std::int64_t> rows{};  ///< rows of the table that are samples; empty: all rows
  std::vector<LabelColumn> labels{};
  std::vector<float> sample_weights{};
  std::shared_ptr<BadSamples> bad{};  ///< null: a bad row is fatal
  std::string place{}, fingerprint{}, cache_key{};

  std::int64_t size() const { return rows.empty() ? table.rows() : static_cast<std::int64_t>(rows.size()); }
  std::int64_t row_of(std::int64_t sample) const {
    return rows.empty() ? sample : rows[static_cast<std::size_t>(sample)];
  }
};

/// Converts a bad row of the table reader.
BadSample bad_sample(const table::BadRow& row);

/// Whether a path contains * or ?.
bool is_pattern(std::string_view path);
/// Expands patterns; matches of one pattern are sorted. Throws Error{kData} for a pattern without a match.
std::vector<std::string> csv_files(const std::vector<config::Path>& paths);

/// Reads the files. The config assigns columns to inputs. Without `inputs`, each of several model inputs gets the
/// column of its name, and a single input gets all columns except labels, sample weights, ids and texts. If
/// `model.fitted_state` is not empty, it determines the columns instead. Throws Error{kData, kUsage, kCheckpoint}.
std::shared_ptr<const CsvRows> read_csv(const CSVSpec& spec, const ModelSide& model);

}  // namespace dptrain::data
