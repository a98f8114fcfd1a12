#pragma once

// CSV as sources: rows that have been read and wait to be taught, and the samples made of them. Immutable; any thread.

#include <memory>
#include <string>
#include <string_view>

#include "data/sources/csv_rows.h"

namespace dptrain::data {

/// Rows of which encoders can learn (Source::learn), or, where `model` brings what was learned, samples at once.
std::shared_ptr<const Source> open_csv(const CSVSpec& spec, const ModelSide& model, Role role);

/// Samples of rows that were read as the model of `model.learned` wants them.
std::shared_ptr<const Source> csv_samples(std::shared_ptr<const CsvRows> rows, const ModelSide& model);

}  // namespace dptrain::data
