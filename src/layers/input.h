#pragma once

#include "core/shape.h"

namespace dptrain::layers {

/// Where data enters the graph (Keras InputLayer): the shape of one sample.
struct InputSpec {
  Shape shape;
};

}  // namespace dptrain::layers
