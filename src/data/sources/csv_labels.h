#pragma once

// Labels and sample weights of a table's rows.

#include <vector>

#include "data/sources/csv_rows.h"
#include "table/read.h"

namespace dptrain::data {

/// Fills `rows.labels` and `rows.sample_weights`, and, where the plan has none yet, the words of classes: sorted, by
/// number where all are numbers, or `class_names`. Rows whose label or weight is missing, or a word that is no class,
/// join `bad` and are left out where `on_error: skip` says so, else they are an Error{kData}.
void put_labels(const CSVSpec& spec, CsvRows& rows, std::vector<table::BadRow>& bad);

}  // namespace dptrain::data
