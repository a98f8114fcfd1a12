#pragma once

// Preprocessing of raw samples for exported models: the steps of evaluation, from config and fitted state. Pure; any
// thread.

#include <vector>

#include "data/source.h"
#include "formats/preparation.h"

namespace dptrain::data {

/// `datasets`: data sets that the model was trained or evaluated on; may be empty. The first table or set of files
/// determines how samples are read. `transforms`: those of evaluation. `model.fitted_state`: from its checkpoint.
/// Throws Error{kUsage} for a step that cannot be exported, Error{kCheckpoint} for a table without fitted state.
formats::Preparation preparation(const std::vector<const config::Typed*>& datasets,
                                 const std::vector<config::Typed>& transforms, const ModelSide& model);

}  // namespace dptrain::data
