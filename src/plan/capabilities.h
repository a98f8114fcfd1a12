#pragma once

// The fusions that a device supports, which make_plan queries. Layers that are not fused run as separate steps.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "config/typed.h"
#include "core/shape.h"

namespace dptrain::plan {

struct Step;
struct TailEntry;

/// A layer that is the only reader of a step's output, and that the step's op may compute.
struct Follower {
  const Step& step;                     ///< the step with its tail so far; its tensors have no numbers yet
  std::span<const Shape> inputs;        ///< of the step's own layer; all shapes are those of one sample in the op
  const config::Typed& layer;           ///< the layer to fuse; an Activation if it only applies an activation
  std::span<const Shape> layer_inputs;  ///< inputs of the layer to fuse; one of them is the step's output
  const Shape& layer_output;
};

/// How an op fuses a layer after its own. Backward does not read the layer's other inputs.
struct TailFusion {
  /// With this layer last in the tail, backward reads the step's output.
  bool reads_output = false;
  /// The layer's other input (there must be one) has the same gradient as the layer's output. Backward leaves it in the
  /// memory of the step's output gradient. At most one entry of a tail may do this.
  bool passes_gradient = false;
};

class Capabilities {
 public:
  virtual ~Capabilities() = default;
  /// Whether and how the step's op fuses the layer after its tail so far. nullopt: the layer becomes a separate step.
  virtual std::optional<TailFusion> fuses(const Follower& follower) const = 0;
  /// Whether `reader`, with one input, can do the backward of the producer's last tail layer from its own output alone.
  virtual bool undoes(const Step& reader, const TailEntry& last) const = 0;
  /// Parameter::order of a layer's weight; `weight` is its index in Keras's order.
  virtual std::vector<int> weight_order(const config::Typed& layer, std::size_t weight) const {
    static_cast<void>(layer), static_cast<void>(weight);
    return {};
  }
  /// Whether the layer reads only some rows of the weight, so that backward returns gradients of those rows.
  virtual bool reads_rows(const config::Typed& layer, std::size_t weight) const {
    static_cast<void>(layer), static_cast<void>(weight);
    return false;
  }
};

/// Fuses nothing: the plainest plan, for tests and for devices without fusion.
class PlainCapabilities final : public Capabilities {
 public:
  std::optional<TailFusion> fuses(const Follower&) const override { return std::nullopt; }
  bool undoes(const Step&, const TailEntry&) const override { return false; }
};

}  // namespace dptrain::plan
