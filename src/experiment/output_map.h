#pragma once

// Reads and writes OutputMap (experiment/sections.h): an argument of training for all outputs of the model, or one per
// output by name. `loss: mse`, `loss: {kind: sparse_categorical_crossentropy, box: mse}`.

#include <string>

#include "config/family.h"
#include "config/json_fragment.h"
#include "core/text.h"
#include "experiment/sections.h"
#include "nn/loss.h"
#include "nn/metric.h"

namespace dptrain::experiment {

/// Whether the only key of a mapping is a member of the family, or a misspelt one, rather than an output's name.
inline bool is_member(const config::Family& family, const std::string& key) {
  return family.find(key) != nullptr || !did_you_mean(key, family.names()).empty();
}
inline bool is_one_value(const Losses*, const config::Node& map) {
  return map.entries().size() == 1 && is_member(nn::loss_family(), map.entries().front().key);
}
inline bool is_one_value(const Metrics*, const config::Node& map) {
  return map.entries().size() == 1 && is_member(nn::metric_family(), map.entries().front().key);
}
inline bool is_one_value(const LossWeights*, const config::Node&) { return false; }

}  // namespace dptrain::experiment

namespace dptrain::config {

template <class T>
struct Value<experiment::OutputMap<T>> {
  static bool read(const Node& node, Reader& reader, experiment::OutputMap<T>& out) {
    out.entries.clear();
    const Node found = reader.substituted(node);
    if (found.is_null()) return true;
    if (!found.is_map() || experiment::is_one_value(&out, found)) {
      auto& all = out.entries.emplace_back();
      all.mark = node.mark();
      return Value<T>::read(found, reader, all.value);
    }
    bool good = true;
    for (const Node::Entry& entry : found.entries()) {
      const Reader::Key element(reader, reader.key() + "." + entry.key);
      auto& one = out.entries.emplace_back();
      one.output = entry.key;
      one.mark = entry.mark;
      good = Value<T>::read(entry.value, reader, one.value) && good;
    }
    return good;
  }
  static Node write(const experiment::OutputMap<T>& value) {
    if (value.for_all()) return Value<T>::write(value.entries.front().value);
    if (!value) return {};
    Node map = Node::map();
    for (const auto& entry : value.entries) map.set(entry.output, Value<T>::write(entry.value));
    return map;
  }
  static Node schema() { return fragment::any_of({Value<T>::schema(), detail::map_schema(Value<T>::schema())}); }
};

}  // namespace dptrain::config
