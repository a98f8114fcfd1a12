#include "layers/dense.h"

#include "layers/keras_export.h"
#include "layers/layer.h"

namespace dptrain::layers {
namespace {

Shape output(const DenseSpec& spec, std::span<const Shape> in) {
  if (in[0].rank() == 0) throw LayerError("{0} is a scalar, expected at least one axis");
  std::vector<std::int64_t> dims = in[0].dims();
  dims.back() = spec.units;
  return Shape(std::move(dims));
}

std::vector<WeightDef> weights(const DenseSpec& spec, std::span<const Shape> in) {
  std::vector<WeightDef> all{{.name = "kernel",
                              .shape = {in[0].back(), spec.units},
                              .initializer = spec.kernel_initializer,
                              .regularizer = spec.kernel_regularizer}};
  if (spec.use_bias)
    all.push_back({.name = "bias",
                   .shape = {spec.units},
                   .initializer = spec.bias_initializer,
                   .regularizer = spec.bias_regularizer});
  return all;
}

config::Node keras(const DenseSpec& spec, std::span<const Shape>) {
  return keras_object({{"units", config::Node::integer(spec.units)},
                       {"activation", keras_activation(spec.activation)},
                       {"use_bias", config::Node::boolean(spec.use_bias)},
                       {"kernel_initializer", keras_initializer(spec.kernel_initializer)},
                       {"bias_initializer", keras_initializer(spec.bias_initializer)},
                       {"kernel_regularizer", keras_regularizer(spec.kernel_regularizer)},
                       {"bias_regularizer", keras_regularizer(spec.bias_regularizer)},
                       {"activity_regularizer", {}},
                       {"kernel_constraint", {}},
                       {"bias_constraint", {}}});
}

const Registered kDense = layer<DenseSpec>("Dense")
                              .positional(key("units", &DenseSpec::units).required().at_least(1).check(Bounded{}))
                              .activation(&DenseSpec::activation)
                              .key(key("use_bias", &DenseSpec::use_bias))
                              .key(key("kernel_initializer", &DenseSpec::kernel_initializer))
                              .key(key("bias_initializer", &DenseSpec::bias_initializer))
                              .key(key("kernel_regularizer", &DenseSpec::kernel_regularizer))
                              .key(key("bias_regularizer", &DenseSpec::bias_regularizer))
                              .inputs(1)
                              .output(output)
                              .weights(weights)
                              .backward_reads([](const DenseSpec& spec) {
                                return BackwardReads{.output = spec.activation != Activation::kLinear, .input_to_train = true};
                              })
                              .keras(keras);

}  // namespace
}  // namespace dptrain::layers
