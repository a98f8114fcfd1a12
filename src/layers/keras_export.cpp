#include "layers/keras_export.h"

#include "config/value.h"
#include "core/text.h"

namespace dptrain::layers {
namespace {

using config::Node;

Node with_class(const std::string& name, std::vector<std::pair<std::string, Node>> entries) {
  return keras_object({{"class_name", keras_text(name)}, {"config", keras_object(std::move(entries))}});
}

}  // namespace

Node keras_text(const std::string& text) { return Node::text(text); }

Node keras_real(double value) { return Node::scalar(shortest(value, true)); }

Node keras_real(float value) {
  const std::string text = shortest(value);
  return Node::scalar(text.find_first_of(".en") == std::string::npos ? text + ".0" : text);
}

Node keras_size(Size2 size) { return keras_extents({size.h, size.w}); }

Node keras_extents(const Shape& shape) {
  Node list = Node::sequence();
  for (const std::int64_t extent : shape.dims()) list.items().push_back(Node::integer(extent));
  return list;
}

Node keras_padding(Padding padding) { return keras_text(config::Value<Padding>::write(padding).str()); }

Node keras_activation(Activation activation) {
  const kernels::ActivationTraits& traits = kernels::traits_of(activation);
  if (traits.keras2 == nullptr) return keras_text(traits.name);
  return keras_object({{"module", keras_text(kKerasOps)},
                       {"class_name", keras_text("function")},
                       {"config", keras_text(traits.name)},
                       {"registered_name", keras_text(traits.name)}});
}

Node keras_initializer(const Initializer& initializer) {
  if (!initializer) return {};
  const config::TypeDef& def = initializer.def();
  if (const auto* orthogonal = initializer.get_if<Orthogonal>(); orthogonal != nullptr && orthogonal->gain != 1)
    return with_class("Orthogonal", {{"gain", keras_real(orthogonal->gain)}, {"seed", {}}});
  if (def.schema.fields().empty() || initializer.type() == typeid(Orthogonal)) return keras_text(def.aliases.front());

  std::vector<std::pair<std::string, Node>> entries;
  const Node written = def.schema.write(initializer.spec());
  for (const auto& entry : written.entries()) {
    const bool word = initializer.type() == typeid(VarianceScaling) && entry.key != "scale";
    entries.emplace_back(entry.key, word ? keras_text(entry.value.str()) : keras_real(std::stod(entry.value.str())));
  }
  if (initializer.type() != typeid(Constant)) entries.emplace_back("seed", Node());
  return with_class(def.name, std::move(entries));
}

Node keras_regularizer(const Regularizer& regularizer) {
  if (!regularizer) return {};
  const Penalty both = penalty(regularizer);
  return with_class("L1L2", {{"l1", keras_real(both.l1)}, {"l2", keras_real(both.l2)}});
}

Node keras_channels_last() { return keras_text("channels_last"); }

Node keras_object(std::vector<std::pair<std::string, Node>> entries) {
  Node map = Node::map();
  for (auto& [key, value] : entries) map.set(key, std::move(value));
  return map;
}

}  // namespace dptrain::layers
