#include "formats/keras/keras_layer.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "graph/definitions.h"

namespace dptrain::formats::keras {
namespace {

Entries::iterator position(Entries& entries, const std::string& key) {
  const auto found = std::ranges::find(entries, key, &Entries::value_type::first);
  if (found == entries.end())
    throw Error(ErrorKind::kInternal, fmt::format("no argument '{}' to write otherwise", key));
  return found;
}

}  // namespace

config::Registry<std::type_index, LayerForm>& layer_forms() {
  static config::Registry<std::type_index, LayerForm> forms;
  return forms;
}

const LayerForm& layer_form(const config::Typed& layer) {
  static const LayerForm plain;
  const LayerForm* own = layer_forms().find(layer.type());
  return own == nullptr ? plain : *own;
}

std::string class_name(const config::Typed& layer) {
  const LayerForm& form = layer_form(layer);
  return form.class_name.empty() ? layer.name() : form.class_name;
}

std::vector<std::string> call_arguments(const config::Typed& layer) {
  std::vector<std::string> all;
  for (const std::string& key : layer_form(layer).of_calls)
    for (const config::Field& field : layer.def().schema.fields())
      if (field.name == key && value(field, layer.spec()).str() == "true") all.push_back(key);
  return all;
}

config::Node layer_arguments(const config::Typed& layer, Dialect dialect) {
  const bool keras3 = dialect == Dialect::kKeras3;
  Entries entries;
  for (const config::Field& field : layer.def().schema.fields())
    entries.emplace_back(field.name, keras3 ? keras3_value(field, layer.spec()) : value(field, layer.spec()));
  for (const LayerForm::Difference& difference : layer_form(layer).differences)
    if (difference.dialect.value_or(dialect) == dialect) difference.make(layer.spec(), entries);
  return object(std::move(entries));
}

config::Node wrapped_layer(const config::Typed& layer) {
  const LayerForm& form = layer_form(layer);
  config::Node own = config::Node::map();
  own.set("name", text(graph::automatic_base(layer.name())));
  if (form.takes_trainable) own.set("trainable", config::Node::boolean(true));
  own.set("dtype", text("float32"));
  const config::Node arguments = layer_arguments(layer);
  for (const config::Node::Entry& entry : arguments.entries()) own.set(entry.key, entry.value);
  return object({{"module", text("keras.layers")},
                 {"class_name", text(class_name(layer))},
                 {"config", std::move(own)},
                 {"registered_name", {}}});
}

void insert(Entries& entries, const std::string& behind, const std::string& key, config::Node value) {
  entries.emplace(behind.empty() ? entries.begin() : std::next(position(entries, behind)), key, std::move(value));
}

config::Node take(Entries& entries, const std::string& key) {
  const auto found = position(entries, key);
  config::Node value = std::move(found->second);
  entries.erase(found);
  return value;
}

config::Node& at(Entries& entries, const std::string& key) { return position(entries, key)->second; }

}  // namespace dptrain::formats::keras
