#pragma once

// What a file for other programs says of how its model was trained. Pure functions; any thread.

#include <optional>

#include "checkpoint/checkpoint.h"
#include "experiment/experiment.h"
#include "export/compiled.h"

namespace dptrain::train {

/// `train:` of a config, with the learning rate as it is at this moment.
exporting::Compiled compiled(const experiment::TrainSection& train, const graph::Graph& graph, double learning_rate);

struct HandedOn {
  exporting::Compiled compiled{};
  std::optional<exporting::OptimizerState> optimizer_state{};
};

/// The same of a checkpoint, and the optimizer's slots; nothing of a state that does not say the learning rate. Throws
/// Error{kCheckpoint} where the state cannot be read.
HandedOn handed_on(const checkpoint::State& state, const experiment::Experiment& experiment);

}  // namespace dptrain::train
