#pragma once

namespace dptrain::nn {

/// max(0, largest (1 - y) p - sum y p + 1) over the last axis; labels are one-hot (Keras 3, CategoricalHinge).
struct CategoricalHingeSpec {};

}  // namespace dptrain::nn
