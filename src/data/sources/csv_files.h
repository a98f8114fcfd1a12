#pragma once

// The files that a column of a table names, as fingerprints and caches see them.

#include <cstdint>

#include "data/sources/csv_columns.h"

namespace dptrain::data {

/// Of some rows, evenly spread: the paths as they stand in the table, and the files' sizes and ends.
std::uint64_t hash_of_named_files(const CsvRows& rows, const CsvFeature& column);
/// Of all rows: the files' names, sizes and times of change.
std::uint64_t stamps_of(const CsvRows& rows, const CsvFeature& column);

}  // namespace dptrain::data
