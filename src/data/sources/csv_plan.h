#pragma once

// CsvPlan: types of a table's columns, which columns are read, and which inputs and labels they become.

#include <string>
#include <vector>

#include "data/sources/csv_layout.h"
#include "data/table/table.h"

namespace dptrain::data {

struct CsvPlan {
  table::Schema schema;
  CsvLayout layout;  ///< inputs and labels; a column has an encoder if `columns:` or the model has one for it
};

/// Plan from the config and the detected types of the columns. Throws Error{kData, kUsage}.
CsvPlan plan_from_detection(const CSVSpec& spec, const ModelSide& model, const std::vector<std::string>& files);
/// Plan from `model.fitted_state`; labels from the config if model.fits_labels(). Throws Error{kData} for a missing
/// column, Error{kCheckpoint} for other encoders or inputs, and the error of `model.fitted_use` for other labels.
CsvPlan plan_as_fitted(const CSVSpec& spec, const ModelSide& model, const std::vector<std::string>& files,
                       bool with_labels);
/// Plan for rows without labels from a stream, which cannot be read ahead. Formats that the config does not set are
/// those of the training files. Columns are found by name.
CsvPlan plan_of_stream(const CSVSpec& spec, const ModelSide& model);
/// Chooses an encoder by type for each column without one.
void choose_encoders(const table::Schema& schema, CsvLayout& layout);

}  // namespace dptrain::data
