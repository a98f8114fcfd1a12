#pragma once

// The definition of a layer type: everything that can be said about it without a device. One per layer, in
// layers/<name>.{h,cpp}; the .h holds the spec struct, the .cpp one `layer<Spec>(...)` expression that registers it.
// The registry is filled before main and read-only afterwards: any thread may read it.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/family.h"
#include "core/dtype.h"
#include "core/shape.h"
#include "nn/activation.h"
#include "nn/initializer.h"
#include "nn/regularizer.h"

namespace dptrain::nn {

using config::key;

/// A tensor that a layer reads, of one sample. kF32 stands for floats, which a device may keep in 16 bits; kI32 are
/// ids.
struct TensorDef {
  Shape shape;
  DType type = DType::kF32;
};

/// One of the tensors that a layer gives, of one sample, in Keras's order.
struct OutputDef {
  std::string name;  ///< "state_h"; "" where the layer has one output
  Shape shape;
  DType type = DType::kF32;
  bool is_mask = false;  ///< says which steps of the other outputs are valid (kU8, 1 or 0); the last, unseen by configs
};

/// A mask for steps of this shape.
OutputDef mask_output(Shape steps);

/// What a layer makes of the mask of its input, as Keras's supports_masking and compute_mask have it.
enum class MaskRule {
  kDrops,     ///< loses it, and Keras warns
  kPasses,    ///< the first input's is the first output's
  kHeeds,     ///< as kPasses, but Keras's layer computes something else under a mask, which no op does
  kJoins,     ///< of all inputs: a step is valid where it is so in any; none where an input has none
  kEnds,      ///< there is nothing left to mask
  kProduces,  ///< the last output is the mask of the others
};

/// Elements of a weight, in order, that are drawn as a weight of their own.
struct WeightPart {
  std::int64_t elements = 0;
  Initializer initializer;
};

/// One weight of a layer, in Keras's order (trainable ones first).
struct WeightDef {
  std::string name;  ///< Keras's: "kernel", "bias", "gamma", "moving_mean", "lstm_cell/kernel"
  Shape shape;       ///< as Keras stores it: HWIO, [in, units]
  Initializer initializer;
  Regularizer regularizer = {};  ///< may be empty
  bool trainable = true;         ///< false: a statistic that forward updates (moving_mean), never a gradient
  double momentum = 0;           ///< statistics: new = momentum * old + (1 - momentum) * batch value
  bool constant = false;  ///< of those that are not trainable: no statistic, but what nothing in training changes
  /// Covers the weight where parts of it have initializers of their own, instead of `initializer`.
  std::vector<WeightPart> parts = {};
};

/// Which of its tensors a layer's backward reads besides the output's gradient. Everything else is freed after forward.
struct BackwardReads {
  bool input = false;
  bool output = false;
  bool input_to_train = false;  ///< the input, for its own weights or moments: a frozen layer does without
  bool masks = false;           ///< its inputs' masks, where they have some; `input` means them, too
};

/// The layer is wrong for these inputs; the graph builder adds name and place. Message: "window 9x9 is larger than the
/// input 4x4".
/// `{0}`, `{1}`, ... in it stand for the inputs; the graph builder puts the names of the steps there.
class LayerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct LayerType final : config::TypeDef {
  int min_inputs = 1;
  int max_inputs = 1;                               ///< -1: any number
  int input_rank = 0;                               ///< of one sample; 0: any
  std::function<bool(const void* spec)> is_random;  ///< draws random numbers in training (Dropout)
  /// Does nothing in training but move or rename memory (Flatten, Reshape): the plan aliases input and output.
  bool is_view = false;
  DType input_type = DType::kF32;  ///< that it computes with; views take any
  std::function<MaskRule(const void* spec, std::span<const Shape>)> mask_rule;
  bool heeds_masks = false;                                ///< its op reads the masks of its inputs (Step::masks)
  std::function<std::int64_t(const void* spec)> id_limit;  ///< of a layer that reads ids: all are below this
  /// Maps spec and inputs to the outputs, at least one. Throws LayerError.
  std::function<std::vector<OutputDef>(const void* spec, std::span<const TensorDef>)> outputs;
  std::function<std::vector<WeightDef>(const void* spec, std::span<const Shape>)> weights;
  std::function<BackwardReads(const void* spec)> backward_reads;
  /// The `activation` argument and a copy of the spec without it; empty where the layer has none.
  std::function<Activation(const void* spec)> activation;
  std::function<std::shared_ptr<void>(const void* spec)> linear;
  /// Of a layer over steps or volumes with a sister over images: her, with what her op reads of a spec (so without
  /// initializers and regularizers). The plan puts her in the layer's place, as computed on images (with_height(),
  /// plan::Step::adds_height); weights are hers without their first axis, and devices have no op of the layer.
  std::function<config::Typed(const void* spec)> computed_as;
  /// Of a layer that applies another one to every step of [steps, ...]: that one. The plan puts it in the layer's
  /// place, with all steps of all samples as its batch (plan::Step::frame_axes); weights are its own, and devices have
  /// no op of the layer.
  std::function<config::Typed(const void* spec)> applies;
};

std::vector<Shape> shapes_of(std::span<const TensorDef> tensors);

config::Family& layer_family();
/// The definition behind a layer value.
const LayerType& type_of(const config::Typed& layer);

/// Whether it draws random numbers in training.
inline bool is_random(const config::Typed& layer) { return type_of(layer).is_random(layer.spec()); }

/// The `activation` argument of a layer that has one (convolutions, Dense).
std::optional<Activation> activation_of(const config::Typed& layer);
/// The same layer with `activation: linear`; layers without the argument come back as they are.
config::Typed without_activation(const config::Typed& layer);

/// LayerType::computed_as of that layer; the layer itself where it has an op of its own.
config::Typed computed_as(const config::Typed& layer);
/// LayerType::applies of that layer, and of what that applies, down to a layer that computes something; how many times.
std::pair<config::Typed, int> applied(const config::Typed& layer);
/// [1, steps, channels] of [steps, channels], [D * H, W, C] of a volume: the image such a layer is computed on.
Shape with_height(const Shape& steps);

/// Builder, one expression per layer. Converting it to LayerType registers it:
///   const Registered kFlatten = layer<FlattenSpec>("Flatten").inputs(1).output(...);
template <class Spec>
class LayerBuilder {
 public:
  explicit LayerBuilder(std::string name) : type_(std::make_unique<LayerType>()) {
    type_->name = name;
    type_->type = typeid(Spec);
    type_->schema = config::Schema::of<Spec>(std::move(name));
    weights([](const Spec&, std::span<const Shape>) { return std::vector<WeightDef>(); });
    backward_reads(BackwardReads{});
    type_->is_random = [](const void*) { return false; };
    type_->mask_rule = [](const void*, std::span<const Shape>) { return MaskRule::kDrops; };
  }

  template <class Owner, class T>
  LayerBuilder&& key(const config::Key<Owner, T>& k) && {
    return add(k, false);
  }
  template <class Owner, class T>
  LayerBuilder&& positional(const config::Key<Owner, T>& k) && {
    return add(k, true);
  }

  LayerBuilder&& inputs(int exactly) && { return std::move(*this).inputs(exactly, exactly); }
  LayerBuilder&& inputs(int at_least, int at_most) && {
    type_->min_inputs = at_least;
    type_->max_inputs = at_most;
    return std::move(*this);
  }
  LayerBuilder&& of_rank(int rank) && { return type_->input_rank = rank, std::move(*this); }
  LayerBuilder&& random() && {
    return std::move(*this).random([](const Spec&) { return true; });
  }
  LayerBuilder&& random(bool (*f)(const Spec&)) && {
    type_->is_random = [f](const void* s) { return f(*static_cast<const Spec*>(s)); };
    return std::move(*this);
  }
  LayerBuilder&& view() && { return type_->is_view = true, std::move(*this); }

  /// Reads ids below the limit instead of floats.
  LayerBuilder&& reads_ids(std::int64_t Spec::*limit) && {
    type_->input_type = DType::kI32;
    type_->id_limit = [limit](const void* s) { return static_cast<const Spec*>(s)->*limit; };
    return std::move(*this);
  }

  /// One output, of floats (a view's: of the input's type), its shape from (spec, all input shapes).
  LayerBuilder&& output(Shape (*f)(const Spec&, std::span<const Shape>)) && {
    type_->outputs = [f, view = type_->is_view](const void* s, std::span<const TensorDef> in) {
      Shape shape = f(*static_cast<const Spec*>(s), shapes_of(in));
      return std::vector<OutputDef>{{"", std::move(shape), view ? in[0].type : DType::kF32}};
    };
    return std::move(*this);
  }
  /// Without it the layer drops masks.
  LayerBuilder&& masks(MaskRule rule) && {
    type_->mask_rule = [rule](const void*, std::span<const Shape>) { return rule; };
    return std::move(*this);
  }
  LayerBuilder&& masks(MaskRule (*f)(const Spec&, std::span<const Shape>)) && {
    type_->mask_rule = [f](const void* s, std::span<const Shape> in) { return f(*static_cast<const Spec*>(s), in); };
    return std::move(*this);
  }
  LayerBuilder&& heeds_masks() && { return type_->heeds_masks = true, std::move(*this); }
  /// Several outputs, or one of another type.
  LayerBuilder&& outputs(std::vector<OutputDef> (*f)(const Spec&, std::span<const TensorDef>)) && {
    type_->outputs = [f](const void* s, std::span<const TensorDef> in) { return f(*static_cast<const Spec*>(s), in); };
    return std::move(*this);
  }
  LayerBuilder&& weights(std::vector<WeightDef> (*f)(const Spec&, std::span<const Shape>)) {
    type_->weights = [f](const void* s, std::span<const Shape> in) { return f(*static_cast<const Spec*>(s), in); };
    return std::move(*this);
  }
  LayerBuilder&& backward_reads(BackwardReads reads) {
    type_->backward_reads = [reads](const void*) { return reads; };
    return std::move(*this);
  }
  LayerBuilder&& backward_reads(std::function<BackwardReads(const Spec&)> f) {
    type_->backward_reads = [f](const void* s) { return f(*static_cast<const Spec*>(s)); };
    return std::move(*this);
  }
  /// Adds the key `activation`, which the plan may take off and give to a step of its own.
  LayerBuilder&& activation(Activation Spec::*member) && {
    type_->activation = [member](const void* s) { return static_cast<const Spec*>(s)->*member; };
    type_->linear = [member](const void* s) {
      auto copy = std::make_shared<Spec>(*static_cast<const Spec*>(s));
      (*copy).*member = Activation::kLinear;
      return std::shared_ptr<void>(std::move(copy));
    };
    return std::move(*this).key(config::key("activation", member));
  }
  template <class Image>
  LayerBuilder&& computed_as(Image (*f)(const Spec&)) && {
    type_->computed_as = [f](const void* s) { return layer_family().make(f(*static_cast<const Spec*>(s))); };
    return std::move(*this);
  }

  /// Applies `inner` to every step, and so its activation; `wrap` gives the spec for another inner layer.
  LayerBuilder&& applies(config::Typed (*inner)(const Spec&), Spec (*wrap)(const config::Typed&)) && {
    type_->applies = [inner](const void* s) { return inner(*static_cast<const Spec*>(s)); };
    type_->activation = [inner](const void* s) {
      return activation_of(inner(*static_cast<const Spec*>(s))).value_or(Activation::kLinear);
    };
    type_->linear = [inner, wrap](const void* s) {
      return std::make_shared<Spec>(wrap(without_activation(inner(*static_cast<const Spec*>(s)))));
    };
    return std::move(*this);
  }
  /// A key that is refused, and `words` that say what to do.
  LayerBuilder&& former(std::string key, std::string words) && {
    static_cast<void>(std::move(type_->schema).former(std::move(key), std::move(words)));  // gives itself back
    return std::move(*this);
  }

  std::unique_ptr<LayerType> build() && { return std::move(type_); }

 private:
  template <class K>
  LayerBuilder&& add(const K& k, bool positional) {
    positional ? type_->schema.positional(k) : type_->schema.key(k);
    return std::move(*this);
  }

  std::unique_ptr<LayerType> type_;
};

template <class Spec>
LayerBuilder<Spec> layer(std::string name) {
  return LayerBuilder<Spec>(std::move(name));
}

/// A static object of this type puts a layer into the registry before main.
struct Registered {
  template <class Spec>
  Registered(LayerBuilder<Spec>&& builder) {  // NOLINT(google-explicit-constructor)
    layer_family().add_by_name(std::unique_ptr<config::TypeDef>(std::move(builder).build()));
  }
};

}  // namespace dptrain::nn
