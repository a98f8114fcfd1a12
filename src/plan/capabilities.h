#pragma once

// What a device can fuse: asked while the plan is made, answered by the device. A device that answers no still runs
// everything, in more steps.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "config/typed.h"
#include "core/shape.h"

namespace dptrain::plan {

struct Step;
struct TailEntry;

/// A layer that alone reads what a step makes; the step's op may compute it, too.
struct Follower {
  const Step& step;                     ///< its layer and its tail so far; tensors are not numbered yet
  std::span<const Shape> inputs;        ///< of the step's own layer; of one sample and as the op sees it, as all here
  const config::Typed& layer;           ///< what follows; "Activation" for whatever is nothing but an activation
  std::span<const Shape> layer_inputs;  ///< of the layer that follows; one of them is the step's output
  const Shape& layer_output;
};

/// What the plan has to know of a layer that an op computes behind its own. Backward reads none of that layer's other
/// inputs.
struct TailFusion {
  /// With this layer last in the tail, backward reads the step's output.
  bool reads_output = false;
  /// The gradient of the layer's other input (there is one) is that of the layer's output: the op's backward leaves it
  /// where the step's output gradient lay. Once in a tail.
  bool passes_gradient = false;
};

class Capabilities {
 public:
  virtual ~Capabilities() = default;
  /// Whether the step's op computes the layer that follows, behind its tail so far. Nothing: a step of its own does.
  virtual std::optional<TailFusion> fuses(const Follower& follower) const = 0;
  /// Whether the backward of `reader`, a step of one input, can go back through the last layer in the tail of the step
  /// that makes its input, too, from the reader's own output.
  virtual bool undoes(const Step& reader, const TailEntry& last) const = 0;
  /// Parameter::order of a layer's weight (Keras's place in the layer).
  virtual std::vector<int> weight_order(const config::Typed& layer, std::size_t weight) const {
    static_cast<void>(layer), static_cast<void>(weight);
    return {};
  }
  /// Whether the layer's weight is read by row, and backward gives a gradient of the rows that were read.
  virtual bool reads_rows(const config::Typed& layer, std::size_t weight) const {
    static_cast<void>(layer), static_cast<void>(weight);
    return false;
  }
};

/// Fuses nothing: the plan in its plainest form, for tests and for devices that have nothing to say.
class PlainCapabilities final : public Capabilities {
 public:
  std::optional<TailFusion> fuses(const Follower&) const override { return std::nullopt; }
  bool undoes(const Step&, const TailEntry&) const override { return false; }
};

}  // namespace dptrain::plan
