#pragma once

// How long training is to take: the config's epochs and steps, or instead of both those of the command line. A value.

#include <cstdint>
#include <optional>

#include "experiment/sections.h"

namespace dptrain::experiment {

struct Goal {
  std::optional<std::int64_t> epochs, steps;  ///< whichever comes first; one of them is there

  /// `epochs` and `steps` of the command line, if any.
  static Goal of(const TrainSection& train, const std::optional<std::int64_t>& epochs,
                 const std::optional<std::int64_t>& steps) {
    return epochs || steps ? Goal{epochs, steps} : Goal{train.epochs, train.steps};
  }

  /// After so many whole epochs and so many steps.
  bool reached(std::int64_t epoch, std::int64_t step) const {
    return (epochs && epoch >= *epochs) || (steps && step >= *steps);
  }
  /// That it takes at the most.
  double in_epochs(std::int64_t steps_per_epoch) const {
    return epochs ? static_cast<double>(*epochs)
                  : static_cast<double>(steps.value_or(0)) / static_cast<double>(steps_per_epoch);
  }
};

}  // namespace dptrain::experiment
