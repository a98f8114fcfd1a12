#pragma once

// How Keras writes the layers of a type: by default every key of its schema, the values as keras_values.h has them. A
// type for which Keras has more or other arguments has one expression in export/keras/layers/ that states the
// differences, in the order in which they are made:
//   const RegisteredLayer kFlatten = layer<nn::FlattenSpec>().last("data_format", channels_last());
// What follows in_keras2() or in_keras3() is of that dialect alone.
// A difference that names a key that is not there is our own bug: Error{kInternal}, which the roll call of all layers
// finds. The table is filled before main and read-only afterwards: any thread may read it.

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/family.h"
#include "config/registry.h"
#include "export/keras/keras_values.h"
#include "nn/layer.h"

namespace dptrain::exporting::keras {

/// kKeras2: of an `.h5`, which Keras 2 and 3 both load; kKeras3: of a `.keras`.
enum class Dialect { kKeras2, kKeras3 };

/// Arguments in Keras's order.
using Entries = std::vector<std::pair<std::string, config::Node>>;

struct LayerForm {
  std::string class_name{};      ///< "": as here
  bool takes_trainable = true;   ///< Keras 3 has the argument `trainable` for it
  bool alone = false;            ///< with its name and nothing else that layers have
  std::string custom_objects{};  ///< the script that has the class, where Keras has not; "": it has
  std::string keyword{};         ///< by which Keras 3 is given the inputs after the first; "": all are its first's list
  bool apart = false;            ///< Keras is given each input as an argument of its own, an only one twice
  std::vector<std::string> ours{};      ///< keys that Keras does not have
  std::vector<std::string> of_calls{};  ///< keys that Keras has as arguments of the call, given where they are true
  struct Difference {
    std::function<void(const void* spec, Entries&)> make{};
    std::optional<Dialect> dialect{};  ///< none: of both
  };
  std::vector<Difference> differences{};
};

const LayerForm& layer_form(const config::Typed& layer);
std::string class_name(const config::Typed& layer);
/// Those of its keys that are arguments of the call and true.
std::vector<std::string> call_arguments(const config::Typed& layer);
/// The layer's own arguments: all but its name, `trainable` and `dtype`.
config::Node layer_arguments(const config::Typed& layer, Dialect dialect = Dialect::kKeras2);
/// A layer that is an argument of another one, in either dialect as Keras 3 wants it and Keras 2 takes it: its class
/// and its config, in which it is called after its class.
config::Node wrapped_layer(const config::Typed& layer);

/// After the key `behind`, or first where that is "".
void insert(Entries& entries, const std::string& behind, const std::string& key, config::Node value);
config::Node take(Entries& entries, const std::string& key);
config::Node& at(Entries& entries, const std::string& key);

template <class Spec>
class LayerBuilder {
 public:
  using Of = config::Node (*)(const Spec&);

  LayerBuilder&& class_name(std::string name) && { return form_.class_name = std::move(name), std::move(*this); }
  LayerBuilder&& without_trainable() && { return form_.takes_trainable = false, std::move(*this); }
  LayerBuilder&& custom_objects(std::string script) && {
    return form_.custom_objects = std::move(script), std::move(*this);
  }
  LayerBuilder&& keyword(std::string word) && { return form_.keyword = std::move(word), std::move(*this); }
  LayerBuilder&& apart() && { return form_.apart = true, std::move(*this); }
  /// A key that Keras has as an argument of the call.
  LayerBuilder&& in_call(std::string key) && {
    form_.of_calls.push_back(key);
    return differs([=](const void*, Entries& entries) { take(entries, key); });
  }
  /// What follows is of this dialect alone.
  LayerBuilder&& in_keras2() && { return dialect_ = Dialect::kKeras2, std::move(*this); }
  LayerBuilder&& in_keras3() && { return dialect_ = Dialect::kKeras3, std::move(*this); }
  LayerBuilder&& alone() && { return form_.alone = true, std::move(*this); }

  /// One more argument, before all others.
  LayerBuilder&& first(std::string key, config::Node value) && {
    return std::move(*this).behind("", std::move(key), std::move(value));
  }
  LayerBuilder&& behind(std::string other, std::string key, config::Node value) && {
    return differs([=](const void*, Entries& entries) { insert(entries, other, key, value); });
  }
  LayerBuilder&& last(std::string key, config::Node value) && {
    return differs([=](const void*, Entries& entries) { entries.emplace_back(key, value); });
  }
  /// A key that is there already.
  LayerBuilder&& last(std::string key) && {
    return differs([=](const void*, Entries& entries) {
      config::Node value = take(entries, key);
      entries.emplace_back(key, std::move(value));
    });
  }
  /// Arguments that are always null, after all others.
  LayerBuilder&& unset(std::initializer_list<const char*> keys) && {
    for (const char* key : keys) std::move(*this).last(key, config::Node());
    return std::move(*this);
  }
  LayerBuilder&& renamed(std::string key, std::string to) && {
    return differs([=](const void*, Entries& entries) {
      config::Node value = at(entries, key);
      insert(entries, key, to, std::move(value));
      take(entries, key);
    });
  }
  /// The value of a key, written otherwise.
  LayerBuilder&& writes(std::string key, Of value) && {
    return differs(
        [=](const void* spec, Entries& entries) { at(entries, key) = value(*static_cast<const Spec*>(spec)); });
  }
  /// A key that is not written where it has its default.
  LayerBuilder&& leaves_out_where(std::string key, bool (*is_default)(const Spec&)) && {
    return differs([=](const void* spec, Entries& entries) {
      if (is_default(*static_cast<const Spec*>(spec))) take(entries, key);
    });
  }
  /// A key that only dptrain has.
  LayerBuilder&& leaves_out(std::string key) && {
    form_.ours.push_back(key);
    return differs([=](const void*, Entries& entries) { take(entries, key); });
  }

  LayerForm build() && { return std::move(form_); }

 private:
  LayerBuilder&& differs(std::function<void(const void*, Entries&)> difference) {
    form_.differences.push_back({std::move(difference), dialect_});
    return std::move(*this);
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

}  // namespace dptrain::exporting::keras
