#pragma once

// Before a table is read: what its columns hold, which of them are read, and what becomes of them.

#include <string>
#include <vector>

#include "data/sources/csv_learned.h"
#include "table/schema.h"

namespace dptrain::data {

struct CsvPlan {
  table::Schema schema;
  CsvLearned learned;  ///< inputs and labels; columns have their encoders where `columns:` or a model says them
};

/// From the config and a look at the files. Throws Error{kData, kUsage}.
CsvPlan plan_by_looking(const CSVSpec& spec, const ModelSide& model, const std::vector<std::string>& files);
/// As it was fitted for a model (`model.learned`); where `model` fits labels, these are as the config has them. Throws
/// Error{kData} for a column that is not there, Error{kCheckpoint} if the config has other encoders or inputs, and for
/// other labels the error of `model.fitted_use`.
CsvPlan plan_as_fitted(const CSVSpec& spec, const ModelSide& model, const std::vector<std::string>& files,
                       bool with_labels);
/// The same for rows without labels that come from where nobody can look ahead: as the training files were written,
/// where the config says nothing. Columns are found by the header's names.
CsvPlan plan_of_stream(const CSVSpec& spec, const ModelSide& model);
/// The encoders of columns of which the config says nothing, by what reading has found.
void choose_encoders(const table::Schema& schema, CsvLearned& plan);

}  // namespace dptrain::data
