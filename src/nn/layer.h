#pragma once

// The definition of a layer type: everything that does not depend on a device. Each theme has a header with the spec
// structs and a source with one `layer<Spec>(...)` expression per layer, which registers it. The family is filled
// before main and read-only afterwards: any thread may read it.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/type_builder.h"
#include "core/dtype.h"
#include "core/shape.h"
#include "nn/activations.h"
#include "nn/geometry.h"
#include "nn/initializer.h"
#include "nn/layer_signature.h"

namespace dptrain::nn {

using config::key;

/// Effect of a layer on the mask of its input, as in Keras's supports_masking and compute_mask.
enum class MaskRule {
  kDrops,        ///< the mask is lost, and Keras warns
  kPasses,       ///< the first output has the mask of the first input
  kUnsupported,  ///< as kPasses, but no op supports what Keras computes under a mask
  kJoins,        ///< a step is valid if it is in any input; no mask if an input has none
  kEnds,         ///< there is nothing left to mask
  kProduces,     ///< the last output is the mask of the others
};

/// Tensors of a layer that its backward reads in addition to the output's gradient. All others are freed after forward.
struct BackwardReads {
  bool input = false;
  bool output = false;
  bool input_to_train = false;  ///< the input, only for weight gradients or moments: unused in a frozen layer
  bool masks = false;           ///< the masks of its inputs, if any; implied by `input`
};

/// The layer does not accept these inputs. Example of a message: "window 9x9 is larger than the input 4x4". The graph
/// builder adds name and location, and replaces `{0}`, `{1}`, ... by the names of the inputs.
class LayerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Two layers over images that together compute a layer over volumes [depth, height, width, C]. `frames` runs on every
/// frame [height, width, C], then `depth` on its result as [depth, height * width, C]. Either may be empty.
struct VolumePasses {
  config::Typed frames{}, depth{};
  explicit operator bool() const { return frames || depth; }
  const config::Typed& last() const { return depth ? depth : frames; }
};

/// Arguments of a layer as in a config ("filters: 5, kernel_size: 3"), and shapes of inputs without the batch.
struct LayerExample {
  std::string arguments;
  std::vector<Shape> inputs;
  bool masked = false;  ///< whether the inputs have a mask of the steps
};

struct LayerType final : config::TypeDef {
  int min_inputs = 1;
  int max_inputs = 1;                               ///< -1: any number
  int input_rank = 0;                               ///< without the batch; 0: any
  std::function<bool(const void* spec)> is_random;  ///< draws random numbers in training (Dropout)
  /// Whether training only moves or renames memory (Flatten, Reshape): the plan aliases input and output.
  bool is_view = false;
  DType input_type = DType::kF32;  ///< type of the inputs; views accept any
  std::function<MaskRule(const void* spec, std::span<const Shape>)> mask_rule;
  bool uses_masks = false;  ///< whether its op reads the masks of its inputs (Step::masks)
  std::function<std::int64_t(const void* spec)> id_limit;  ///< all ids that the layer reads are below this
  /// Returns the outputs for spec and inputs, at least one. Throws LayerError.
  std::function<std::vector<OutputDef>(const void* spec, std::span<const TensorDef>)> outputs;
  std::function<std::vector<WeightDef>(const void* spec, std::span<const Shape>)> weights;
  std::function<BackwardReads(const void* spec)> backward_reads;
  /// The `activation` argument and a copy of the spec without it; empty if the layer has none.
  std::function<Activation(const void* spec)> activation;
  std::function<std::shared_ptr<void>(const void* spec)> linear;
  /// The layer over images that computes this layer over steps or volumes, with all arguments that its op reads (no
  /// initializers and regularizers). The plan replaces this layer by it and treats tensors as images (with_height(),
  /// plan::Step::adds_height). Its kernels have the same elements and one more leading axis. Devices have no op of this
  /// layer.
  std::function<config::Typed(const void* spec)> computed_as;
  /// The layer that this layer applies to every step of [steps, ...]. The plan replaces this layer by it, with all
  /// steps of all samples as its batch (plan::Step::frame_axes). Devices have no op of this layer.
  std::function<config::Typed(const void* spec)> applies;
  /// The two layers over images that compute this layer over volumes. Devices combine their ops (backend/volume_op.h)
  /// and have no op of this layer.
  std::function<VolumePasses(const void* spec)> passes;
  std::vector<LayerExample> examples;  ///< for checks that run every layer
};

std::vector<Shape> shapes_of(std::span<const TensorDef> tensors);

config::Family& layer_family();
const LayerType& type_of(const config::Typed& layer);
inline bool is_random(const config::Typed& layer) { return type_of(layer).is_random(layer.spec()); }

/// The `activation` argument of a layer that has one (convolutions, Dense).
std::optional<Activation> activation_of(const config::Typed& layer);
/// The layer with `activation: linear`. Layers without the argument are returned unchanged.
config::Typed without_activation(const config::Typed& layer);

/// LayerType::computed_as of the layer, or the layer itself if it has its own op.
config::Typed computed_as(const config::Typed& layer);
/// Follows LayerType::applies to the innermost layer. Returns that layer and the number of wrappers around it.
std::pair<config::Typed, int> applied(const config::Typed& layer);
/// LayerType::passes of the layer; both empty if it has none.
VolumePasses passes_of(const config::Typed& layer);
/// The image on which such a layer is computed: [1, steps, channels] for [steps, channels], [D * H, W, C] for a volume.
Shape with_height(const Shape& steps);

/// Builder, one expression per layer. Converting it to Registered adds it to the family:
///   const Registered kFlatten = layer<FlattenSpec>("Flatten").inputs(1).output(...);
template <class Spec>
class LayerBuilder : public config::TypeBuilder<LayerBuilder<Spec>, Spec, LayerType> {
  using Base = config::TypeBuilder<LayerBuilder<Spec>, Spec, LayerType>;
  using Base::self;
  using Base::type_;
  using Base::untyped;

 public:
  explicit LayerBuilder(std::string name) : Base(std::move(name)) {
    weights([](const Spec&, std::span<const Shape>) { return std::vector<WeightDef>(); });
    backward_reads(BackwardReads{});
    type_->is_random = [](const void*) { return false; };
    masks(MaskRule::kDrops);
  }

  LayerBuilder&& inputs(int exactly) { return inputs(exactly, exactly); }
  LayerBuilder&& inputs(int at_least, int at_most) {
    type_->min_inputs = at_least;
    type_->max_inputs = at_most;
    return self();
  }
  LayerBuilder&& of_rank(int rank) { return type_->input_rank = rank, self(); }
  LayerBuilder&& random() {
    return random([](const Spec&) { return true; });
  }
  LayerBuilder&& random(bool (*f)(const Spec&)) { return type_->is_random = untyped(f), self(); }
  LayerBuilder&& view() { return type_->is_view = true, self(); }

  /// Reads ids below the limit instead of floats.
  LayerBuilder&& reads_ids(std::int64_t Spec::*limit) {
    type_->input_type = DType::kI32;
    type_->id_limit = [limit](const void* s) { return static_cast<const Spec*>(s)->*limit; };
    return self();
  }

  /// One output of floats, or for a view of the input's type. f returns its shape for the spec and all input shapes.
  LayerBuilder&& output(Shape (*f)(const Spec&, std::span<const Shape>)) {
    type_->outputs = [f, view = type_->is_view](const void* s, std::span<const TensorDef> in) {
      Shape shape = f(*static_cast<const Spec*>(s), shapes_of(in));
      return std::vector<OutputDef>{{"", std::move(shape), view ? in[0].type : DType::kF32}};
    };
    return self();
  }
  LayerBuilder&& same_shape() {
    return output([](const Spec&, std::span<const Shape> in) { return in[0]; });
  }
  /// Several outputs, or one of another type.
  LayerBuilder&& outputs(std::vector<OutputDef> (*f)(const Spec&, std::span<const TensorDef>)) {
    return type_->outputs = untyped(f), self();
  }
  /// Without this call the layer drops masks.
  LayerBuilder&& masks(MaskRule rule) {
    type_->mask_rule = [rule](const void*, std::span<const Shape>) { return rule; };
    return self();
  }
  LayerBuilder&& masks(MaskRule (*f)(const Spec&, std::span<const Shape>)) {
    return type_->mask_rule = untyped(f), self();
  }
  LayerBuilder&& uses_masks() { return type_->uses_masks = true, self(); }
  LayerBuilder&& weights(std::vector<WeightDef> (*f)(const Spec&, std::span<const Shape>)) {
    return type_->weights = untyped(f), self();
  }
  LayerBuilder&& backward_reads(BackwardReads reads) {
    type_->backward_reads = [reads](const void*) { return reads; };
    return self();
  }
  LayerBuilder&& backward_reads(BackwardReads (*f)(const Spec&)) { return type_->backward_reads = untyped(f), self(); }
  /// Adds the key `activation`, which the plan can replace by a separate step.
  LayerBuilder&& activation(Activation Spec::*member) {
    type_->activation = [member](const void* s) { return static_cast<const Spec*>(s)->*member; };
    type_->linear = [member](const void* s) {
      auto copy = std::make_shared<Spec>(*static_cast<const Spec*>(s));
      (*copy).*member = Activation::kLinear;
      return std::shared_ptr<void>(std::move(copy));
    };
    return this->key(config::key("activation", member).doc("function that is applied to the output"));
  }
  template <class Image>
  LayerBuilder&& computed_as(Image (*f)(const Spec&)) {
    type_->computed_as = [f](const void* s) { return layer_family().make(f(*static_cast<const Spec*>(s))); };
    return self();
  }
  LayerBuilder&& computed_in_passes(VolumePasses (*f)(const Spec&)) { return type_->passes = untyped(f), self(); }

  /// Applies `inner` to every step; the activation is that of `inner`. `wrap` returns the spec for another inner layer.
  LayerBuilder&& applies(config::Typed (*inner)(const Spec&), Spec (*wrap)(const config::Typed&)) {
    type_->applies = untyped(inner);
    type_->activation = [inner](const void* s) {
      return activation_of(inner(*static_cast<const Spec*>(s))).value_or(Activation::kLinear);
    };
    type_->linear = [inner, wrap](const void* s) {
      return std::make_shared<Spec>(wrap(without_activation(inner(*static_cast<const Spec*>(s)))));
    };
    return self();
  }

  LayerBuilder&& example(std::string arguments, std::vector<Shape> inputs) {
    return type_->examples.push_back({std::move(arguments), std::move(inputs)}), self();
  }
  LayerBuilder&& masked_example(std::string arguments, std::vector<Shape> inputs) {
    return type_->examples.push_back({std::move(arguments), std::move(inputs), true}), self();
  }
};

template <class Spec>
LayerBuilder<Spec> layer(std::string name) {
  return LayerBuilder<Spec>(std::move(name));
}

using Registered = config::Registration<layer_family>;

// Keys that several layers have.

template <class Spec, class T>
config::Key<Spec, T> extent_key(const char* name, T Spec::*member) {
  return key(name, member).at_least(1).check(ExtentCheck{});
}
/// The rate of a dropout.
template <class Spec>
config::Key<Spec, float> rate_key(const char* name, float Spec::*member) {
  return key(name, member).at_least(0).below(1);
}
template <class Spec>
auto kernel_size_key() {
  return extent_key("kernel_size", &Spec::kernel_size)
      .required()
      .doc("size of the window: " + extents_text(Spec{}.kernel_size));
}
template <class Spec>
auto strides_key() {
  return extent_key("strides", &Spec::strides).doc("distance between windows: " + extents_text(Spec{}.strides));
}
template <class Spec>
auto dilation_key() {
  return extent_key("dilation_rate", &Spec::dilation_rate)
      .doc("distance between the taps of the kernel; above 1 only with strides of 1");
}
/// `same`: the size of the output with this padding.
template <class Spec>
auto padding_key(const std::string& same = "divided by the strides, rounded up") {
  return key("padding", &Spec::padding).doc("valid, or same: the output has the size of the input " + same);
}

}  // namespace dptrain::nn
