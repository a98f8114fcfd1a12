#pragma once

// Definition of a transform: the header of its theme has the spec with Keras's arguments; the source implements it and
// registers it with one `transform_def<Spec, Made>(schema)` expression. The family is filled before main and read-only
// afterwards. Transforms draw once per sample, even if Keras draws once per batch.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/type_builder.h"
#include "data/transform.h"

namespace dptrain::data {

using config::key;

/// A transform type.
struct TransformDef final : config::TypeDef {
  std::function<std::unique_ptr<Transform>(const void* spec)> make;
};

template <class Spec, class Made>
std::unique_ptr<TransformDef> transform_def(config::Schema schema, std::vector<std::string> aliases = {}) {
  auto def = std::make_unique<TransformDef>();
  static_cast<config::TypeDef&>(*def) = config::type_def<Spec>(std::move(schema), std::move(aliases));
  def->make = [](const void* spec) { return std::make_unique<Made>(*static_cast<const Spec*>(spec)); };
  return def;
}

using RegisteredTransform = config::Registration<transform_family>;

}  // namespace dptrain::data
