#pragma once

// The form of each type of layer in Keras's files, for the writer and the reader: by default every key of its schema,
// with values as in keras_values.h. A type for which Keras has more or other arguments has one row in
// keras_layer_table.cpp. It lists the differences, which the writer applies in that order:
//   const RegisteredLayer kFlatten = layer<nn::FlattenSpec>().last("data_format", channels_last());
// Differences after in_keras2() or in_keras3() apply to that dialect only. A difference for a missing key is a bug in
// dptrain: Error{kInternal}. The table is filled before main and read-only afterwards: any thread may read it.

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/family.h"
#include "config/registry.h"
#include "formats/keras/keras_values.h"
#include "nn/layer.h"

namespace dptrain::formats::keras {

/// kKeras2: for an `.h5`, which Keras 2 and 3 both load; kKeras3: for a `.keras`.
enum class Dialect { kKeras2, kKeras3 };

/// Arguments in Keras's order.
using Entries = std::vector<std::pair<std::string, config::Node>>;

/// Reads an argument of a file's config that needs code of its own, and adds an error if dptrain cannot represent it.
/// False: it is read like any other.
using ArgumentReader = bool (*)(const std::string& key, const nlohmann::json& config, std::vector<std::string>&);

struct LayerForm {
  std::string class_name{};    ///< "": the name of the spec
  bool has_trainable = true;   ///< Keras 3 has the argument `trainable` for it
  bool has_only_name = false;  ///< has its name but no other common argument
  /// Script with the class if Keras lacks it; "": Keras has it.
  std::string custom_objects{};
  /// Keyword of the inputs after the first in Keras 3; "": the first argument is a list of all inputs.
  std::string keyword{};
  /// Keras gets each input as an argument of its own, and a single input twice.
  bool has_separate_inputs = false;
  std::vector<std::string> ours{};      ///< keys that Keras does not have
  std::vector<std::string> of_calls{};  ///< keys that are arguments of the call in Keras, written if true
  std::vector<std::string> ignored{};   ///< patterns of arguments in files that do not change the output
  ArgumentReader reader = nullptr;
  struct Difference {
    std::function<void(const void* spec, Entries&)> make{};
    std::optional<Dialect> dialect{};  ///< none: both
  };
  std::vector<Difference> differences{};
};

const LayerForm& layer_form(std::type_index spec);
inline const LayerForm& layer_form(const config::Typed& layer) { return layer_form(layer.type()); }
std::string class_name(const config::Typed& layer);
/// Keys of the layer that are arguments of the call and true.
std::vector<std::string> call_arguments(const config::Typed& layer);
/// The layer's own arguments: all but its name, `trainable` and `dtype`.
config::Node layer_arguments(const config::Typed& layer, Dialect dialect = Dialect::kKeras2);
/// The arguments of dptrain's layer, from the `config` in a file. Adds to `errors` an error for each argument that
/// dptrain does not support: "argument 'kernel_constraint' is ...".
config::Node layer_arguments(const std::string& class_name, const nlohmann::json& config, bool by_keras3,
                             std::vector<std::string>& errors);

/// Inserts an argument after an existing key, or first if that key is "".
void insert(Entries& entries, const std::string& after, const std::string& key, config::Node value);
config::Node take(Entries& entries, const std::string& key);
config::Node& at(Entries& entries, const std::string& key);

template <class Spec>
class LayerBuilder {
 public:
  using Of = config::Node (*)(const Spec&);

  LayerBuilder&& class_name(std::string name) { return form_.class_name = std::move(name), self(); }
  LayerBuilder&& without_trainable() { return form_.has_trainable = false, self(); }
  LayerBuilder&& custom_objects(std::string script) { return form_.custom_objects = std::move(script), self(); }
  LayerBuilder&& keyword(std::string word) { return form_.keyword = std::move(word), self(); }
  LayerBuilder&& has_separate_inputs() { return form_.has_separate_inputs = true, self(); }
  LayerBuilder&& has_only_name() { return form_.has_only_name = true, self(); }
  /// Arguments that the reader accepts with any value. A '*' matches any text.
  LayerBuilder&& ignores(std::vector<std::string> keys) { return form_.ignored = std::move(keys), self(); }
  LayerBuilder&& reads(ArgumentReader reader) { return form_.reader = reader, self(); }
  /// Makes the key an argument of the call.
  LayerBuilder&& in_call(std::string key) {
    form_.of_calls.push_back(key);
    return differs([=](const void*, Entries& entries) { take(entries, key); });
  }
  /// Later differences apply to this dialect only.
  LayerBuilder&& in_keras2() { return dialect_ = Dialect::kKeras2, self(); }
  LayerBuilder&& in_keras3() { return dialect_ = Dialect::kKeras3, self(); }

  /// Adds an argument before all others.
  LayerBuilder&& first(std::string key, config::Node value) { return after("", std::move(key), std::move(value)); }
  LayerBuilder&& after(std::string other, std::string key, config::Node value) {
    return differs([=](const void*, Entries& entries) { insert(entries, other, key, value); });
  }
  LayerBuilder&& last(std::string key, config::Node value) {
    return differs([=](const void*, Entries& entries) { entries.emplace_back(key, value); });
  }
  /// Moves an existing key to the end.
  LayerBuilder&& last(std::string key) {
    return differs([=](const void*, Entries& entries) { entries.emplace_back(key, take(entries, key)); });
  }
  /// Adds arguments that are always null, after all others.
  LayerBuilder&& unset(std::initializer_list<const char*> keys) {
    for (const char* key : keys) last(key, config::Node());
    return self();
  }
  LayerBuilder&& renamed(std::string key, std::string to) {
    return differs([=](const void*, Entries& entries) {
      config::Node value = at(entries, key);
      insert(entries, key, to, std::move(value));
      take(entries, key);
    });
  }
  /// Writes the value of a key in another form.
  LayerBuilder&& writes(std::string key, Of value) {
    return differs(
        [=](const void* spec, Entries& entries) { at(entries, key) = value(*static_cast<const Spec*>(spec)); });
  }
  /// Omits a key that has its default.
  LayerBuilder&& omits_if(std::string key, bool (*is_default)(const Spec&)) {
    return differs([=](const void* spec, Entries& entries) {
      if (is_default(*static_cast<const Spec*>(spec))) take(entries, key);
    });
  }
  /// Omits a key that only dptrain has.
  LayerBuilder&& omits(std::string key) {
    form_.ours.push_back(key);
    return differs([=](const void*, Entries& entries) { take(entries, key); });
  }

  LayerForm build() { return std::move(form_); }

 private:
  LayerBuilder&& self() { return static_cast<LayerBuilder&&>(*this); }
  LayerBuilder&& differs(std::function<void(const void*, Entries&)> difference) {
    form_.differences.push_back({std::move(difference), dialect_});
    return self();
  }

  LayerForm form_;
  std::optional<Dialect> dialect_;
};

template <class Spec>
LayerBuilder<Spec> layer() {
  return {};
}

config::Registry<std::type_index, LayerForm>& layer_forms();
using RegisteredLayer = config::SpecRegistration<layer_forms>;

/// One row for several types: `row` gets the builder of each and returns it.
template <class... Specs>
struct RegisteredLayers {
  template <class Row>
  explicit RegisteredLayers(Row row) {
    (layer_forms().add(typeid(Specs), row(layer<Specs>()).build()), ...);
  }
};

}  // namespace dptrain::formats::keras
