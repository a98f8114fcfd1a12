#pragma once

// `train.class_weight`: converts the setting to one weight per class. Main thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/source.h"
#include "experiment/sections.h"

namespace dptrain::session {

struct ClassWeightContext {
  const data::Source& labels;             ///< the training set
  int which = 0;                          ///< index of the label
  std::int64_t outputs = 0;               ///< values of the output at each position; 1: two classes
  std::int64_t positions = 1;             ///< of each sample
  std::optional<std::int64_t> ignored{};  ///< class that is not counted
  bool synthetic = false;                 ///< generated data have no class names: ignore weights by name
};

/// Unnamed classes get 1, as in Keras. Balanced: positions / (classes that occur * positions of the class). Throws
/// Error{kUsage} at the section's location for unknown or repeated classes, and for data without labels.
std::vector<float> class_weights(const experiment::ClassWeight& setting, const ClassWeightContext& context);

/// "balanced: daisy 1.2, roses 0.9"
std::string describe_class_weights(const experiment::ClassWeight& setting, const std::vector<float>& weights,
                                   const std::vector<std::string>& names);

}  // namespace dptrain::session
