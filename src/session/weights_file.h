#pragma once

// The file that `model.weights` names must be there before anything is made ready. Main thread.

#include "experiment/experiment.h"

namespace dptrain::session {

/// For a fresh start. Throws ConfigError at the name's place in the config, with the nearest name in the same folder;
/// nothing where the model takes no weights.
void require_weights_file(const experiment::Experiment& experiment);

}  // namespace dptrain::session
