#pragma once

// CSV data sets as sources: rows whose encoders are not fitted yet, and samples. Immutable; any thread.

#include <memory>
#include <string_view>

#include "data/sources/csv_rows.h"

namespace dptrain::data {

/// Rows to fit encoders to (Source::fit), or samples if `model.fitted_state` is set and labels are not fitted again.
std::shared_ptr<const Source> open_csv(const CSVSpec& spec, const ModelSide& model, Role role);

/// Samples of rows that were read with the plan of a trained model.
std::shared_ptr<const Source> csv_samples(std::shared_ptr<const CsvRows> rows, const ModelSide& model);

}  // namespace dptrain::data
