#pragma once

// Synthetic: learnable samples in the model's input shapes, noise around one random mean per class. At most 4096
// distinct samples are generated when it is opened; then they repeat. Immutable.

#include <memory>

#include "data/sources/dataset.h"

namespace dptrain::data {

struct SyntheticSpec : DatasetCommon {
  std::int64_t samples = 10000;
  std::int64_t classes = 0;  ///< 0: the width of the model's output (1 output: 2 classes)
  std::uint64_t seed = 0;
};

/// Roles share the class means and nothing else. Throws Error{kUsage} if there are more classes than outputs.
std::shared_ptr<const Source> make_synthetic(const SyntheticSpec& spec, const ModelSide& model, Role role);

}  // namespace dptrain::data
