#pragma once

// Labels and sample weights of a table's rows.

#include <vector>

#include "data/sources/csv_rows.h"
#include "table/read.h"

namespace dptrain::data {

/// Fills `rows.labels` and `rows.sample_weights`. If the plan has no classes yet, they are the words of the column,
/// sorted, as numbers if all are numbers. A row without a label or weight, or with a label that is not a class, is an
/// Error{kData}; with `on_error: skip` it is left out and added to `bad`. A class number for which the model has no
/// output is always an Error{kData}.
void put_labels(const CSVSpec& spec, const ModelSide& model, CsvRows& rows, std::vector<table::BadRow>& bad);

}  // namespace dptrain::data
