#include "formats/keras/keras_values.h"

#include <map>
#include <optional>

#include <nlohmann/json.hpp>

#include "config/family.h"
#include "config/value.h"
#include "core/text.h"

namespace dptrain::formats::keras {
namespace {

using config::Node;

Node with_class(const std::string& name, std::vector<std::pair<std::string, Node>> entries) {
  return object({{"class_name", text(name)}, {"config", object(std::move(entries))}});
}

// The values of keys that are not written as in a config.

Node node_of(double number) { return real(number); }
Node node_of(float number) {
  const std::string text = shortest(number);
  return Node::scalar(text.find_first_of(".en") == std::string::npos ? text + ".0" : text);
}
Node node_of(Size2 both) { return size(both); }
Node node_of(nn::Extent one) { return size(one); }
Node node_of(nn::Size3 three) { return size(three); }
Node node_of(const nn::Margins1D& ends) { return extents({ends.before, ends.after}); }
Node node_of(const nn::Margins2D& sides) {
  return Node::sequence({extents({sides.top, sides.bottom}), extents({sides.left, sides.right})});
}
Node node_of(const nn::Margins3D& sides) {
  return Node::sequence({node_of(sides.depth), node_of(sides.height), node_of(sides.width)});
}
/// A plain string. If Keras 2 has another function of this name, an object of `keras.ops`, which Keras 3 loads and
/// Keras 2 refuses.
Node node_of(nn::Activation activation) {
  const kernels::ActivationTraits& traits = kernels::traits_of(activation);
  if (traits.keras2 == nullptr) return text(traits.name);
  return object({{"module", text(kOps)},
                 {"class_name", text("function")},
                 {"config", text(traits.name)},
                 {"registered_name", text(traits.name)}});
}
Node node_of(const nn::Initializer& one) { return initializer(one); }
/// Always the class L1L2, the only one that every release supports; null if absent.
Node node_of(const nn::Regularizer& regularizer) {
  if (!regularizer) return {};
  const nn::Penalty both = nn::penalty(regularizer);
  return with_class("L1L2", {{"l1", real(both.l1)}, {"l2", real(both.l2)}});
}
template <class T>
Node node_of(const std::optional<T>& maybe) {
  return maybe ? node_of(*maybe) : Node();
}

using Writers = std::map<const config::ValueOperations*, Node (*)(const void* value)>;

/// By the type of a key, which is its ValueOperations.
template <class... T>
Writers writers_of() {
  return {{&config::kValueOperations<T>, [](const void* value) { return node_of(*static_cast<const T*>(value)); }}...};
}

}  // namespace

Node text(const std::string& text) { return Node::text(text); }

Node real(double value) { return Node::scalar(shortest(value, true)); }

Node size(Size2 size) { return extents({size.h, size.w}); }

Node size(nn::Extent extent) { return extents({extent.n}); }

Node size(nn::Size3 size) { return extents({size.d, size.h, size.w}); }

Node extents(const Shape& shape) {
  Node list = Node::sequence();
  for (const std::int64_t extent : shape.dims()) list.items().push_back(Node::integer(extent));
  return list;
}

Node initializer(const nn::Initializer& initializer) {
  if (!initializer) return {};
  const config::TypeDef& def = initializer.def();
  if (const auto* orthogonal = initializer.get_if<nn::Orthogonal>(); orthogonal != nullptr && orthogonal->gain != 1)
    return with_class("Orthogonal", {{"gain", real(orthogonal->gain)}, {"seed", {}}});
  if (def.schema.fields().empty() || initializer.type() == typeid(nn::Orthogonal)) return text(def.aliases.front());

  std::vector<std::pair<std::string, Node>> entries;
  for (const config::Field& field : def.schema.fields())
    entries.emplace_back(field.name, value(field, initializer.spec()));
  if (initializer.type() != typeid(nn::Constant)) entries.emplace_back("seed", Node());
  return with_class(def.name, std::move(entries));
}

Node channels_last() { return text("channels_last"); }

Node value(const config::Field& field, const void* spec) {
  static const Writers writers =
      writers_of<double, float, Size2, std::optional<double>, std::optional<float>, std::optional<Size2>, nn::Margins2D,
                 nn::Margins1D, nn::Extent, std::optional<nn::Extent>, nn::Margins3D, nn::Size3,
                 std::optional<nn::Size3>, nn::Activation, nn::Initializer, nn::Regularizer>();
  const auto found = writers.find(field.value);
  return found == writers.end() ? field.write(spec) : found->second(field.member(const_cast<void*>(spec)));
}

Node keras3_value(const config::Field& field, const void* spec) {
  if (field.value != &config::kValueOperations<nn::Activation>) return value(field, spec);
  const auto* activation = static_cast<const nn::Activation*>(field.member(const_cast<void*>(spec)));
  return text(kernels::traits_of(*activation).name);
}

Node object(std::vector<std::pair<std::string, Node>> entries) {
  Node map = Node::map();
  for (auto& [key, value] : entries) map.set(key, std::move(value));
  return map;
}

nlohmann::ordered_json json_of(const Node& node) { return nlohmann::ordered_json::parse(config::to_json(node)); }

}  // namespace dptrain::formats::keras
