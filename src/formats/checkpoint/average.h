#pragma once

// The mean of the weights of several files of one model, as in "stochastic weight averaging" (Izmailov et al., 2018).
// Main thread.

#include <string>
#include <vector>

#include "graph/model.h"

namespace dptrain::formats {

/// Fills the model with the mean over the files, summed in double, statistics of normalisations included. Throws
/// Error{kCheckpoint} where a file cannot be read or is of another model.
void load_average(const std::vector<std::string>& files, graph::Model& model);

}  // namespace dptrain::formats
