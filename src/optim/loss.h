#pragma once

// Losses: specs with Keras's names. A loss reads the model's output (or, where the plan fuses, the logits
// before its softmax or sigmoid) and labels; the equations are in docs/numerics.md.

#include "config/family.h"
#include "optim/labels.h"

namespace dptrain::optim {

config::Family& loss_family();  ///< aliases: categorical_crossentropy, mse, mean_squared_error, ...
using Loss = config::Of<loss_family>;

struct CategoricalCrossentropySpec {
  bool from_logits = false;
  double label_smoothing = 0;
};
struct SparseCategoricalCrossentropySpec {
  bool from_logits = false;
};
struct BinaryCrossentropySpec {
  bool from_logits = false;
  double label_smoothing = 0;
};
struct MeanSquaredErrorSpec {};
struct MeanAbsoluteErrorSpec {};

}  // namespace dptrain::optim
