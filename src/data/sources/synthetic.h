#pragma once

// Synthetic: samples in the shapes that the model wants, noise around one random mean per class, so that a network can
// learn them. A few thousand distinct samples at most are made when it is opened and repeat from there, so it costs
// neither time nor memory and serves batches as fast as memory allows. Immutable.

#include <memory>

#include "data/sources/dataset.h"

namespace dptrain::data {

/// Noise around one random mean per class.
struct SyntheticSpec : DatasetCommon {
  std::int64_t samples = 10000;
  std::int64_t classes = 0;  ///< 0: the width of the model's output (1 output: 2 classes)
  std::uint64_t seed = 0;
};

/// `classes` 0: as many as the model has outputs (two for one output). Roles share the class means and nothing else.
/// Throws Error{kUsage} when there are more classes than outputs.
std::shared_ptr<const Source> make_synthetic(const SyntheticSpec& spec, const ModelSide& model, Role role);

}  // namespace dptrain::data
