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
#include "core/shape.h"
#include "layers/activation.h"
#include "layers/initializer.h"
#include "layers/regularizer.h"

namespace dptrain::layers {

using config::key;

/// One weight of a layer, in Keras's order (trainable ones first).
struct WeightDef {
  std::string name;  ///< Keras's: "kernel", "bias", "gamma", "moving_mean"
  Shape shape;       ///< as Keras stores it: HWIO, [in, units]
  Initializer initializer;
  Regularizer regularizer = {};  ///< may be empty
  bool trainable = true;         ///< false: a statistic that forward updates (moving_mean), never a gradient
  double momentum = 0;           ///< statistics: new = momentum * old + (1 - momentum) * batch value
};

/// Which of its tensors a layer's backward reads besides the output's gradient. Everything else is freed after forward.
struct BackwardReads {
  bool input = false;
  bool output = false;
  bool input_to_train = false;  ///< the input, for its own weights or moments: a frozen layer does without
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
  int max_inputs = 1;      ///< -1: any number
  int input_rank = 0;      ///< of one sample; 0: any
  bool is_random = false;  ///< draws random numbers in training (Dropout)
  /// Does nothing in training but move or rename memory (Flatten, Reshape): the plan aliases input and output.
  bool is_view = false;
  /// Maps spec and input shapes to the output shape. Throws LayerError.
  std::function<Shape(const void* spec, std::span<const Shape>)> output;
  std::function<std::vector<WeightDef>(const void* spec, std::span<const Shape>)> weights;
  std::function<BackwardReads(const void* spec)> backward_reads;
  /// The `activation` argument and a copy of the spec without it; empty where the layer has none.
  std::function<Activation(const void* spec)> activation;
  std::function<std::shared_ptr<void>(const void* spec)> linear;
  /// Keras 2 `config` of the layer beyond name/trainable/dtype, as JSON (docs/keras-files.md).
  std::function<config::Node(const void* spec, std::span<const Shape>)> keras_config;
  bool keras_trainable = true;  ///< Keras 3 takes `trainable` in that config
};

config::Family& layer_family();
/// The definition behind a layer value.
const LayerType& type_of(const config::Typed& layer);

/// The `activation` argument of a layer that has one (convolutions, Dense).
std::optional<Activation> activation_of(const config::Typed& layer);
/// The same layer with `activation: linear`; layers without the argument come back as they are.
config::Typed without_activation(const config::Typed& layer);

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
    type_->keras_config = [schema = &type_->schema](const void* spec, std::span<const Shape>) {
      return schema->write(spec);
    };
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
  LayerBuilder&& random() && { return type_->is_random = true, std::move(*this); }
  LayerBuilder&& view() && { return type_->is_view = true, std::move(*this); }
  LayerBuilder&& without_keras_trainable() && { return type_->keras_trainable = false, std::move(*this); }

  /// Shape from (spec, all input shapes).
  LayerBuilder&& output(Shape (*f)(const Spec&, std::span<const Shape>)) && {
    type_->output = [f](const void* s, std::span<const Shape> in) { return f(*static_cast<const Spec*>(s), in); };
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
  LayerBuilder&& keras(config::Node (*f)(const Spec&, std::span<const Shape>)) && {
    type_->keras_config = [f](const void* s, std::span<const Shape> in) { return f(*static_cast<const Spec*>(s), in); };
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
    layer_family().add(std::unique_ptr<config::TypeDef>(std::move(builder).build()));
  }
};

}  // namespace dptrain::layers
