#pragma once

// Inputs, outputs and weights of a layer, for headers that store them; nn/layer.h defines layer types. Plain values.

#include <cstdint>
#include <string>
#include <vector>

#include "config/typed.h"
#include "core/dtype.h"
#include "core/shape.h"

namespace dptrain::nn {

config::Family& initializer_family();
using Initializer = config::Of<initializer_family>;

config::Family& regularizer_family();  ///< L1, L2, L1L2, aliases l1, l2, l1_l2
using Regularizer = config::Of<regularizer_family>;

/// l1 * sum |w| + l2 * sum w^2. The base of the specs of all three types.
struct Penalty {
  double l1 = 0, l2 = 0;
};
/// An input of a layer, without the batch. kF32 are floats, which a device may store in 16 bits; kI32 are ids.
struct TensorDef {
  Shape shape;
  DType type = DType::kF32;
};

/// An output of a layer, without the batch. Outputs have Keras's order.
struct OutputDef {
  std::string name;  ///< "state_h"; "" if the layer has one output
  Shape shape;
  DType type = DType::kF32;
  bool is_mask = false;  ///< a mask of the other outputs (kU8, 1: valid); the last output, hidden in configs
};

/// A mask for steps of this shape.
OutputDef mask_output(Shape steps);

/// A range of a weight's elements that has its own initializer. Parts are in order.
struct WeightPart {
  std::int64_t elements = 0;
  Initializer initializer;
};

/// One weight of a layer, in Keras's order (trainable ones first).
struct WeightDef {
  std::string name;  ///< Keras's: "kernel", "bias", "gamma", "moving_mean", "lstm_cell/kernel"
  Shape shape;       ///< as Keras stores it: HWIO, [in, units]
  Initializer initializer;
  Regularizer regularizer = {};  ///< empty: none
  bool trainable = true;         ///< false: no gradient; forward may update it (moving_mean)
  double momentum = 0;           ///< statistics: new = momentum * old + (1 - momentum) * batch value
  bool constant = false;         ///< no statistic either; training does not change it
  /// If not empty, the parts cover the weight and replace `initializer`.
  std::vector<WeightPart> parts = {};
};

}  // namespace dptrain::nn
