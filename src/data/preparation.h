#pragma once

// How a model's raw samples are prepared, for files of other programs: what evaluation does with them, from the config
// and from what was learned. Pure; any thread.

#include <string>
#include <vector>

#include "data/source.h"
#include "formats/preparation.h"

namespace dptrain::data {

/// `datasets`: that the model was trained or judged on; empty ones are passed over, the first table or set of files
/// says how samples are read. `transforms`: of evaluation. `model.learned`: of its checkpoint. Throws Error{kUsage}
/// where a step has no form outside of dptrain (it names the step), Error{kCheckpoint} where nothing was learned of a
/// table.
formats::Preparation preparation(const std::vector<const config::Typed*>& datasets,
                                 const std::vector<config::Typed>& transforms, const ModelSide& model);

}  // namespace dptrain::data
