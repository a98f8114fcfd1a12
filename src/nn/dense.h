#pragma once

// Dense, and what it has in common with the convolutions: one or two kernels and a bias, each with an initializer and a
// regularizer, and an activation.

#include <string>
#include <utility>
#include <vector>

#include "nn/layer.h"

namespace dptrain::nn {

/// y = activation(x W + b) on the last axis; W is [in, units] (Keras Dense).
struct DenseSpec {
  std::int64_t units = 0;
  Activation activation = Activation::kLinear;
  bool use_bias = true;
  Initializer kernel_initializer{GlorotUniform{}};
  Initializer bias_initializer{Zeros{}};
  Regularizer kernel_regularizer;
  Regularizer bias_regularizer;
};

/// One kernel of a layer, with Keras's names.
template <class Spec>
struct KernelOf {
  std::string word;  ///< in its keys, "depthwise" as in depthwise_initializer; "kernel" where there is one only
  Initializer Spec::*initializer;
  Regularizer Spec::*regularizer;

  std::string weight() const { return word == "kernel" ? word : word + "_kernel"; }
  std::string title() const { return word == "kernel" ? word : word + " kernel"; }
};

/// Of a `Spec` with `activation`, `use_bias`, `bias_initializer`, `bias_regularizer` and these kernels, in Keras's
/// order.
template <class Spec>
class KernelsAndBias {
 public:
  explicit KernelsAndBias(std::vector<KernelOf<Spec>> kernels) : kernels_(std::move(kernels)) {}

  /// Adds their keys, and what backward reads.
  LayerBuilder<Spec>&& add_to(LayerBuilder<Spec>&& builder) const;
  /// `shapes` are those of the kernels.
  std::vector<WeightDef> weights(const Spec& spec, const std::vector<Shape>& shapes, std::int64_t bias) const;

 private:
  std::vector<KernelOf<Spec>> kernels_;
};

template <class Spec>
LayerBuilder<Spec>&& KernelsAndBias<Spec>::add_to(LayerBuilder<Spec>&& builder) const {
  auto add = [&](const std::string& name, auto Spec::*member, const std::string& text) {
    builder.key(config::key(name, member).doc(text));
  };
  builder.activation(&Spec::activation);
  add("use_bias", &Spec::use_bias, "whether to add a bias");
  for (const KernelOf<Spec>& kernel : kernels_)
    add(kernel.word + "_initializer", kernel.initializer, "initializer of the " + kernel.title());
  add("bias_initializer", &Spec::bias_initializer, "initializer of the bias");
  for (const KernelOf<Spec>& kernel : kernels_)
    add(kernel.word + "_regularizer", kernel.regularizer, "penalty on the " + kernel.title() + ", added to the loss");
  add("bias_regularizer", &Spec::bias_regularizer, "penalty on the bias, added to the loss");
  return builder.backward_reads([](const Spec& spec) {
    return BackwardReads{.output = spec.activation != Activation::kLinear, .input_to_train = true};
  });
}

template <class Spec>
std::vector<WeightDef> KernelsAndBias<Spec>::weights(const Spec& spec, const std::vector<Shape>& shapes,
                                                     std::int64_t bias) const {
  std::vector<WeightDef> all;
  for (std::size_t i = 0; i < kernels_.size(); ++i)
    all.push_back({.name = kernels_[i].weight(),
                   .shape = shapes.at(i),
                   .initializer = spec.*kernels_[i].initializer,
                   .regularizer = spec.*kernels_[i].regularizer});
  if (spec.use_bias)
    all.push_back(
        {.name = "bias", .shape = {bias}, .initializer = spec.bias_initializer, .regularizer = spec.bias_regularizer});
  return all;
}

}  // namespace dptrain::nn
