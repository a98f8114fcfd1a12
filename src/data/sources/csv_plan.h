#pragma once

// The plan for reading a table: types of its columns, which of them are read, and their use.

#include <string>
#include <vector>

#include "data/sources/csv_learned.h"
#include "data/table/table.h"

namespace dptrain::data {

struct CsvPlan {
  table::Schema schema;
  CsvLearned learned;  ///< inputs and labels; columns have an encoder if `columns:` or a model has one
};

/// From the config and the detected types of the columns. Throws Error{kData, kUsage}.
CsvPlan plan_by_looking(const CSVSpec& spec, const ModelSide& model, const std::vector<std::string>& files);
/// As it was fitted for a model (`model.learned`); where `model` fits labels, these are as the config has them. Throws
/// Error{kData} for a column that is not there, Error{kCheckpoint} if the config has other encoders or inputs, and for
/// other labels the error of `model.fitted_use`.
CsvPlan plan_as_fitted(const CSVSpec& spec, const ModelSide& model, const std::vector<std::string>& files,
                       bool with_labels);
/// For rows without labels from a stream, which cannot be read ahead: without keys in the config they have the format
/// of the training files. Columns are found by name.
CsvPlan plan_of_stream(const CSVSpec& spec, const ModelSide& model);
/// Chooses encoders, by type, for columns without one.
void choose_encoders(const table::Schema& schema, CsvLearned& plan);

}  // namespace dptrain::data
