#pragma once

namespace dptrain::nn {

/// Leaves a step [..., features] out whose features all equal mask_value: zeros come out, and the layer says which
/// steps are valid (Keras Masking).
struct MaskingSpec {
  double mask_value = 0;
};

}  // namespace dptrain::nn
