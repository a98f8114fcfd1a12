#pragma once

// Labels and sample weights of a table's rows.

#include <vector>

#include "data/sources/csv_rows.h"
#include "table/read.h"

namespace dptrain::data {

/// Fills `rows.labels` and `rows.sample_weights`, and, where the plan has none yet, the words of classes: sorted, by
/// number where all are numbers. Rows whose label or weight is missing, or a label that is not a class, join `bad` and
/// are left out where `on_error: skip` says so, else they are an Error{kData}. So are class numbers for which the model
/// has no output, always.
void put_labels(const CSVSpec& spec, const ModelSide& model, CsvRows& rows, std::vector<table::BadRow>& bad);

}  // namespace dptrain::data
