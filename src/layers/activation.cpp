#include "layers/activation.h"

namespace dptrain::layers {

bool backward_from_output(Activation activation) {
  // gelu and swish are not monotonic: one output has two inputs with different slopes.
  return activation != Activation::kGelu && activation != Activation::kSwish;
}

}  // namespace dptrain::layers
