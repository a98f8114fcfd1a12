#pragma once

// gamma and beta of the layers that normalise. Private to the room.

#include <string>
#include <utility>
#include <vector>

#include "nn/geometry.h"
#include "nn/layer.h"

namespace dptrain::nn {

/// Their keys, in Keras's order.
template <class Spec>
LayerBuilder<Spec>&& add_gamma_and_beta(LayerBuilder<Spec>&& builder) {
  return std::move(builder)
      .key(key("center", &Spec::center))
      .key(key("scale", &Spec::scale))
      .key(key("beta_initializer", &Spec::beta_initializer))
      .key(key("gamma_initializer", &Spec::gamma_initializer))
      .key(key("beta_regularizer", &Spec::beta_regularizer))
      .key(key("gamma_regularizer", &Spec::gamma_regularizer));
}

template <class Spec>
std::vector<WeightDef> gamma_and_beta(const Spec& spec, const Shape& shape) {
  std::vector<WeightDef> all;
  if (spec.scale)
    all.push_back({.name = "gamma",
                   .shape = shape,
                   .initializer = spec.gamma_initializer,
                   .regularizer = spec.gamma_regularizer});
  if (spec.center)
    all.push_back(
        {.name = "beta", .shape = shape, .initializer = spec.beta_initializer, .regularizer = spec.beta_regularizer});
  return all;
}

}  // namespace dptrain::nn
