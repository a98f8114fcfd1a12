#pragma once

// What a device can fuse: asked while the plan is made, answered by the device. A device that answers no still runs
// everything, in more steps.

#include <cstddef>
#include <vector>

#include "config/family.h"
#include "core/shape.h"
#include "layers/activation.h"

namespace dptrain::plan {

class Capabilities {
 public:
  virtual ~Capabilities() = default;
  /// The op of this layer (a convolution, Dense, BatchNormalization, Add) can apply the activation to its output and
  /// undo it in backward from the output alone.
  virtual bool fuses_activation(const config::Typed& layer, layers::Activation activation) const = 0;
  /// The pooling's backward can multiply by the ReLU mask of its input, seen from its own output.
  virtual bool pool_masks_relu(const config::Typed& pooling) const = 0;
  /// The op of this layer can apply the epilogue and then that max-pooling, and go back through both from what it
  /// keeps. `input`: of one sample.
  virtual bool fuses_pooling(const config::Typed& layer, const Shape& input, layers::Activation epilogue,
                             const config::Typed& pooling) const {
    static_cast<void>(layer), static_cast<void>(input), static_cast<void>(epilogue), static_cast<void>(pooling);
    return false;
  }
  /// The op of this layer can add a second input, of its output's shape, to its result before the epilogue, and leaves
  /// the sum's gradient where the output's lay.
  virtual bool fuses_sum(const config::Typed& layer) const {
    static_cast<void>(layer);
    return false;
  }
  /// Parameter::order of a layer's weight (Keras's place in the layer, Keras's shape).
  virtual std::vector<int> weight_order(const config::Typed& layer, std::size_t weight, const Shape& shape) const {
    static_cast<void>(layer), static_cast<void>(weight), static_cast<void>(shape);
    return {};
  }
};

/// Fuses nothing: the plan in its plainest form, for tests and for devices that have nothing to say.
class PlainCapabilities final : public Capabilities {
 public:
  bool fuses_activation(const config::Typed&, layers::Activation) const override { return false; }
  bool pool_masks_relu(const config::Typed&) const override { return false; }
};

}  // namespace dptrain::plan
