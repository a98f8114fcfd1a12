#pragma once

// --input of predict for a model of a Join: one for each of its parts, in the order of the config. Main thread.

#include <optional>
#include <string>
#include <vector>

#include "cli/predict_input.h"
#include "data/sources/join.h"
#include "table/row_stream.h"

namespace dptrain::cli {

/// Each part is read as its data set is, without labels, and held whole. `kept`: columns of the first part that is a
/// table; refused where none is. Throws Error{kUsage, kData}.
PredictInput joined_input(const std::vector<std::string>& paths, const data::JoinSpec& join,
                          const experiment::Experiment& experiment, const std::string& learned,
                          const std::optional<std::string>& on_error, const table::KeptColumns& kept);

}  // namespace dptrain::cli
