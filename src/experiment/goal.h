#pragma once

// The length of training: epochs and steps of the command line, else those of the config. A value.

#include <cstdint>
#include <optional>

#include "experiment/sections.h"

namespace dptrain::experiment {

struct Goal {
  std::optional<std::int64_t> epochs, steps;  ///< the first one reached ends training; at least one is set

  /// `epochs` and `steps` of the command line, if any.
  static Goal of(const TrainSection& train, const std::optional<std::int64_t>& epochs,
                 const std::optional<std::int64_t>& steps) {
    return epochs || steps ? Goal{epochs, steps} : Goal{train.epochs, train.steps};
  }

  /// Whether training ends after this many whole epochs and steps.
  bool reached(std::int64_t epoch, std::int64_t step) const {
    return (epochs && epoch >= *epochs) || (steps && step >= *steps);
  }
  /// The maximum length in epochs.
  double in_epochs(std::int64_t steps_per_epoch) const {
    return epochs ? static_cast<double>(*epochs)
                  : static_cast<double>(steps.value_or(0)) / static_cast<double>(steps_per_epoch);
  }
};

}  // namespace dptrain::experiment
