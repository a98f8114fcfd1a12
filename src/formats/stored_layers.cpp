#include "formats/stored_layers.h"

#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "core/format.h"
#include "core/text.h"
#include "formats/keras/keras_definition.h"
#include "graph/definitions.h"

namespace dptrain::formats {
namespace {

constexpr int kDeepestModel = 16;  ///< models in models

std::vector<ConfigLayer> read(const nlohmann::json& list, int depth) {
  std::vector<ConfigLayer> layers;
  for (const nlohmann::json& entry : list) {
    if (!entry.is_object()) continue;
    ConfigLayer layer{text_at(entry, "name"), text_at(entry, "class_name"), false, {}};
    if (layer.name.empty()) layer.name = text_at(at(entry, "config"), "name");
    if (const nlohmann::json* inner = layer_list(entry); inner != nullptr && depth < kDeepestModel) {
      layer.is_model = true;
      layer.inner = read(*inner, depth + 1);
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace

std::vector<ConfigLayer> config_layers(const std::string& model_config) {
  const nlohmann::json model = nlohmann::json::parse(model_config, nullptr, false);
  const nlohmann::json* list = layer_list(model);
  return list == nullptr ? std::vector<ConfigLayer>() : read(*list, 0);
}

const ConfigLayer* multi_gpu_core(const std::vector<ConfigLayer>& layers) {
  const ConfigLayer* core = nullptr;
  bool slices = false;
  for (const ConfigLayer& layer : layers) {
    if (layer.is_model && core == nullptr) {
      core = &layer;
    } else if (layer.class_name == "Lambda") {
      slices = true;
    } else if (layer.class_name != "InputLayer" && layer.class_name != "Concatenate") {
      return nullptr;
    }
  }
  return slices ? core : nullptr;
}

namespace {

// ---- the legacy tree: layer_names, weight_names

/// The group with `layer_names`: the root of a file of weights alone, else `model_weights`, as in Keras's loaders.
std::optional<Hdf5Group> legacy_root(const Hdf5Group& root) {
  if (root.has("layer_names") || root.has("layer_names0")) return root;
  return root.find_group("model_weights");
}

/// "conv1/kernel:0" -> "conv1"; "" for a bare name.
std::string parent_of(const std::string& weight) {
  const std::size_t slash = weight.rfind('/');
  return slash == std::string::npos ? "" : weight.substr(0, slash);
}

/// The layers of a nested model with their scopes, in its order.
void collect_leaves(const std::vector<ConfigLayer>& layers, const std::string& scope,
                    std::vector<std::pair<std::string, const ConfigLayer*>>& leaves) {
  for (const ConfigLayer& layer : layers) {
    if (layer.is_model)
      collect_leaves(layer.inner, scope + "/" + layer.name, leaves);
    else
      leaves.emplace_back(scope, &layer);
  }
}

/// Splits a group by the layers that own the weights, in the order in which layers first appear.
std::vector<StoredLayer> cut_by_parent(const StoredLayer& whole) {
  std::vector<StoredLayer> parts;
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < whole.weights.size(); ++i) {
    const std::string parent = parent_of(whole.weight_names[i]);
    const auto [entry, fresh] = place.emplace(parent, parts.size());
    if (fresh) parts.push_back({parent, {}, {}, whole.name, "", true});
    StoredLayer& part = parts[entry->second];
    part.weight_names.push_back(whole.weight_names[i]);
    part.weights.push_back(whole.weights[i]);
  }
  return parts;
}

/// Removes the common prefix of all names: "seq/dense_1", "seq/dense_2" -> "dense_1", "dense_2".
void drop_common_scope(std::vector<StoredLayer>& parts) {
  for (;;) {
    const std::size_t slash = parts.front().name.find('/');
    if (slash == std::string::npos) return;
    const std::string head = parts.front().name.substr(0, slash + 1);
    if (!std::all_of(parts.begin(), parts.end(), [&](const StoredLayer& p) { return p.name.starts_with(head); }))
      return;
    for (StoredLayer& part : parts) part.name.erase(0, head.size());
  }
}

/// The layers of a model that was stored as one layer, in the order and with the names of its config if there is one.
std::vector<StoredLayer> opened(const StoredLayer& whole, const ConfigLayer* config) {
  std::vector<StoredLayer> parts = cut_by_parent(whole);
  std::vector<std::pair<std::string, const ConfigLayer*>> leaves;
  if (config != nullptr) collect_leaves(config->inner, whole.name, leaves);
  std::vector<std::pair<std::size_t, std::size_t>> order;  // place in the config, part
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      const std::string& name = leaves[leaf].second->name;
      if (parts[i].name != name && !parts[i].name.ends_with("/" + name)) continue;
      order.emplace_back(leaf, i);
      break;
    }
  if (order.size() != parts.size()) {  // no config, or it lacks some scopes
    drop_common_scope(parts);
    return parts;
  }
  std::sort(order.begin(), order.end());
  std::vector<StoredLayer> sorted;
  for (const auto& [leaf, part] : order) {
    sorted.push_back(std::move(parts[part]));
    sorted.back().name = leaves[leaf].second->name;
    sorted.back().scope = leaves[leaf].first;
    sorted.back().kind = graph::snake_case(leaves[leaf].second->class_name);
  }
  return sorted;
}

/// Without a config: a name with weights of several layers is a model, unless it is a wrapper.
bool looks_like_model(const StoredLayer& layer) {
  std::set<std::string> parents;
  for (const std::string& name : layer.weight_names) parents.insert(parent_of(name));
  const bool wrapper = std::any_of(parents.begin(), parents.end(), [](const std::string& parent) {
    return parent.find("/forward_") != std::string::npos || parent.find("/backward_") != std::string::npos ||
           parent == "attention_output" || parent.ends_with("/attention_output");
  });
  return parents.size() > 1 && !wrapper;
}

StoredLayers read_legacy(const Hdf5Group& where, const std::string& model_config) {
  StoredLayers all;
  const std::string version = where.text("keras_version").value_or("1");
  all.layout = fmt::format("Keras {} .h5", version);
  const std::vector<ConfigLayer> config = config_layers(model_config);
  std::map<std::string, const ConfigLayer*> by_name;
  for (const ConfigLayer& layer : config) by_name.emplace(layer.name, &layer);
  for (std::string& name : where.list("layer_names")) {
    const Hdf5Group group = where.group(name);
    StoredLayer layer{std::move(name), group.list("weight_names"), {}, "", "", true};
    for (const std::string& weight : layer.weight_names) layer.weights.push_back(group.dataset(weight));
    const auto known = by_name.find(layer.name);
    const ConfigLayer* own = known == by_name.end() ? nullptr : known->second;
    if (own != nullptr) layer.kind = graph::snake_case(own->class_name);
    const bool model = own != nullptr ? own->is_model : looks_like_model(layer);
    if (model && !layer.weights.empty()) {
      all.notes.push_back(fmt::format("'{}' is a nested model; its layers are loaded one by one", layer.name));
      for (StoredLayer& part : opened(layer, own)) all.layers.push_back(std::move(part));
    } else {
      all.layers.push_back(std::move(layer));
    }
  }
  if (const ConfigLayer* core = multi_gpu_core(config))
    all.notes = {fmt::format("made by multi_gpu_model: the weights are those of its inner model '{}'", core->name)};
  return all;
}

// ---- the tree of object paths: layers/conv2d_1/vars/0

/// Keras 3 and tf-keras 2.15, and tf-keras 2.12 to 2.13.
constexpr const char* kContainers[] = {"layers", "_layer_checkpoint_dependencies"};

std::optional<Hdf5Group> container_of(const Hdf5Group& group) {
  for (const char* name : kContainers)
    if (std::optional<Hdf5Group> found = group.find_group(name)) return found;
  return std::nullopt;
}

/// "conv2d_12" -> ("conv2d", 12); "conv2d" -> ("conv2d", 0).
std::pair<std::string, std::uint64_t> class_and_count(const std::string& group) {
  const std::size_t bar = group.rfind('_');
  if (bar == std::string::npos) return {group, 0};
  const auto count = parse_number<std::uint64_t>(std::string_view(group).substr(bar + 1));
  return count ? std::pair(group.substr(0, bar), *count) : std::pair(group, std::uint64_t{0});
}

class ObjectTree {
 public:
  explicit ObjectTree(StoredLayers& out) : out_(out) {}

  /// Reads the layers of one model, by class and count if `config` is empty.
  void model(const Hdf5Group& container, const std::vector<ConfigLayer>& config, const std::string& scope, int depth) {
    if (depth > kDeepest) container.file().throw_damaged("its models are nested too deeply");
    count_group(container);
    if (!config.empty()) return with_config(container, config, scope, depth);
    std::vector<std::string> names = container.names();
    std::sort(names.begin(), names.end(),
              [](const std::string& a, const std::string& b) { return class_and_count(a) < class_and_count(b); });
    for (const std::string& name : names) layer(container, name, nullptr, scope, depth);
  }

 private:
  static constexpr int kDeepest = 16;

  /// Detects cycles of links: a group takes 40 bytes or more, which bounds their number.
  void count_group(const Hdf5Group& group) {
    if (++groups_ > group.file().size() / 40) group.file().throw_damaged("its groups form a cycle");
  }

  /// The name of a layer's group is its class and the number of earlier layers of that class.
  void with_config(const Hdf5Group& container, const std::vector<ConfigLayer>& config, const std::string& scope,
                   int depth) {
    std::map<std::string, int> count;
    for (const ConfigLayer& one : config) {
      const std::string kind = graph::snake_case(one.class_name);
      const int n = count[kind]++;
      const std::string name = n == 0 ? kind : fmt::format("{}_{}", kind, n);
      if (container.contains(name)) layer(container, name, &one, scope, depth);
    }
  }

  void layer(const Hdf5Group& container, const std::string& name, const ConfigLayer* config, const std::string& scope,
             int depth) {
    const Hdf5Group group = container.group(name);
    std::optional<std::string> own = vars_name(group);
    if (config != nullptr) own = config->name;
    if (const auto inner = container_of(group)) {
      const std::string label = own.value_or(name);
      out_.notes.push_back(fmt::format("'{}' is a nested model; its layers are loaded one by one", label));
      return model(*inner, config != nullptr ? config->inner : std::vector<ConfigLayer>(),
                   scope.empty() ? label : scope + "/" + label, depth + 1);
    }
    StoredLayer stored{own.value_or(group.path()), {}, {}, scope, class_and_count(name).first, own.has_value()};
    gather(group, "", stored, depth + 1);
    out_.layers.push_back(std::move(stored));
  }

  static std::optional<std::string> vars_name(const Hdf5Group& group) {
    const std::optional<Hdf5Group> vars = group.find_group("vars");
    return vars ? vars->text("name") : std::nullopt;
  }

  /// Adds the layer's variables by number, then those of parts such as the cell of a recurrent layer, forward before
  /// backward.
  void gather(const Hdf5Group& group, const std::string& path, StoredLayer& stored, int depth) {
    if (depth > 2 * kDeepest) group.file().throw_damaged("its objects are nested too deeply");
    count_group(group);
    if (const auto vars = group.find_group("vars")) {
      std::vector<std::pair<std::uint64_t, std::string>> numbered;
      for (const std::string& name : vars->names())
        if (const auto number = parse_number<std::uint64_t>(name)) numbered.emplace_back(*number, name);
      std::sort(numbered.begin(), numbered.end());
      for (const auto& [number, name] : numbered) {
        stored.weight_names.push_back(path + name);
        stored.weights.push_back(vars->dataset(name));
      }
    }
    for (const std::string& name : parts_of(group))
      gather(group.group(name), fmt::format("{}{}/", path, name), stored, depth + 1);
  }

  /// Sorts parts by the layer's weights. The file sorts groups by name, which differs for the projections of a
  /// MultiHeadAttention and for two directions.
  static std::vector<std::string> parts_of(const Hdf5Group& group) {
    static const std::vector<std::string> ordered{"query_dense", "key_dense", "value_dense", "output_dense",
                                                  "backward_layer"};
    std::vector<std::string> names = group.names();
    std::erase_if(names, [](const std::string& name) { return name == "vars" || name == "seed_generator"; });
    const auto place = [](const std::string& name) {  // unknown names first
      const auto found = std::ranges::find(ordered, name.starts_with('_') ? name.substr(1) : name);  // Keras 2 adds '_'
      return found == ordered.end() ? ordered.begin() : std::next(found);
    };
    std::ranges::stable_sort(names, [&](const std::string& a, const std::string& b) { return place(a) < place(b); });
    return names;
  }

  StoredLayers& out_;
  std::uint64_t groups_ = 0;
};

StoredLayers read_objects(const Hdf5Group& root, const std::string& model_config) {
  const std::vector<ConfigLayer> config = config_layers(model_config);
  StoredLayers all;
  all.layout = config.empty() ? "Keras .weights.h5" : "Keras .keras";
  all.ordered = !config.empty();
  ObjectTree(all).model(*container_of(root), config, "", 0);
  return all;
}

}  // namespace

std::string StoredLayer::short_name(std::size_t weight) const {
  const auto end_of = [](const std::string& path, int parts) {  // the last parts of a path, at most all
    std::size_t from = path.size();
    while (parts-- > 0 && from != 0 && from != std::string::npos) from = path.rfind('/', from - 1);
    return from == std::string::npos ? path : path.substr(from == 0 ? 0 : from + 1);
  };
  const std::string& full = weight_names[weight];
  constexpr std::size_t kMax = 64;  // bounds the work for files with more weights than any layer has
  const auto parts = weight_names.size() > kMax ? 1 : std::ranges::count(full, '/') + 1;
  std::string shortest;
  for (int count = 1; count <= parts; ++count) {
    shortest = end_of(full, count);
    if (std::ranges::count_if(weight_names,
                              [&](const std::string& other) { return end_of(other, count) == shortest; }) < 2)
      break;
  }
  return shortest.substr(0, shortest.rfind(':'));
}

bool has_stored_layers(const Hdf5Group& root) {
  return legacy_root(root).has_value() || container_of(root).has_value();
}

StoredLayers read_stored_layers(const Hdf5Group& root, const std::string& model_config) {
  if (const std::optional<Hdf5Group> where = legacy_root(root)) return read_legacy(*where, model_config);
  if (!container_of(root))
    root.file().refuse("contains no Keras model: no group 'model_weights', no 'layer_names' and no group 'layers'");
  return read_objects(root, model_config);
}

}  // namespace dptrain::formats
