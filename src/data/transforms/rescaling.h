#pragma once

#include "layers/rescaling.h"

namespace dptrain::data {

/// x * scale + offset, with the keys of the layer.
using layers::RescalingSpec;

}  // namespace dptrain::data
