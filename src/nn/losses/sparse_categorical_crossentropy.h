#pragma once

namespace dptrain::nn {

/// -ln of the right class's q, as CategoricalCrossentropySpec has it; labels are class numbers (Keras 3,
/// SparseCategoricalCrossentropy).
struct SparseCategoricalCrossentropySpec {
  bool from_logits = false;
};

}  // namespace dptrain::nn
