#pragma once

// `train.class_weight`: converts the setting to one weight per class. Main thread.

#include <cstdint>
#include <string>
#include <vector>

#include "data/source.h"
#include "experiment/sections.h"

namespace dptrain::session {

struct ClassWeightContext {
  const data::Source& labels;  ///< the training set
  int which = 0;               ///< index of the label
  std::int64_t outputs = 0;    ///< width of the output; 1: two classes
  bool synthetic = false;      ///< generated data have no class names: ignore weights by name
};

/// Unnamed classes get 1, as in Keras. Balanced: samples / (classes that occur * samples of the class). Throws
/// Error{kUsage} at the section's location for unknown or repeated classes, and for data without labels.
std::vector<float> class_weights(const experiment::ClassWeight& setting, const ClassWeightContext& context);

/// "balanced: daisy 1.2, roses 0.9"
std::string describe_class_weights(const experiment::ClassWeight& setting, const std::vector<float>& weights,
                                   const std::vector<std::string>& names);

}  // namespace dptrain::session
