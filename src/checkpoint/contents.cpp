#include "checkpoint/contents.h"

#include "checkpoint/seal.h"
#include "core/error.h"
#include "core/format.h"

namespace dptrain::checkpoint {
namespace {

/// Where `layer_names` is: the root of a file of weights alone, else `model_weights` (as Keras's loaders look).
std::optional<Hdf5Group> weights_root(const Hdf5Group& root) {
  if (root.has("layer_names") || root.has("layer_names0")) return root;
  return root.find_group("model_weights");
}

}  // namespace

std::string StoredLayer::short_name(std::size_t weight) const {
  const std::string& full = weight_names[weight];
  const std::string last = full.substr(full.rfind('/') + 1);
  return last.substr(0, last.rfind(':'));
}

Contents Contents::open(const std::string& path) { return over(Hdf5Bytes::of_file(path)); }

Contents Contents::over(std::shared_ptr<const Hdf5Bytes> bytes) {
  const bool sealed = check_seal(*bytes);
  return {Hdf5Group::root(std::move(bytes)), sealed};
}

bool Contents::has_layers() const { return weights_root(root).has_value(); }

std::vector<StoredLayer> Contents::layers() const {
  const std::optional<Hdf5Group> where = weights_root(root);
  if (!where) file().refuse("holds no Keras model: no group 'model_weights' and no 'layer_names'");
  std::vector<StoredLayer> layers;
  for (std::string& name : where->list("layer_names")) {
    const Hdf5Group group = where->group(name);
    StoredLayer layer{std::move(name), group.list("weight_names"), {}};
    for (const std::string& weight : layer.weight_names) layer.weights.push_back(group.dataset(weight));
    layers.push_back(std::move(layer));
  }
  return layers;
}

State Contents::state() const {
  if (!has_state())
    file().refuse(
        "is a Keras file without the state of a training run (a model.h5, or written by Keras itself): it cannot be "
        "resumed; start from its weights with --init-from");
  State state;
  state.resolved_config = resolved_config();
  state.trainer = trainer();
  state.class_names = class_names();
  for (const auto& [name, dataset] : arrays()) state.arrays.push_back({name, dataset.shape(), dataset.floats()});
  return state;
}

std::string Contents::trainer() const { return state_text("trainer"); }
std::string Contents::resolved_config() const { return state_text("resolved_config"); }

std::string Contents::state_text(const char* name) const {
  const Hdf5Group group = root.group(kStateGroup);
  const auto format = group.number("format");
  if (!format) file().damaged("its state has no format number");
  if (*format > kStateFormat)
    file().refuse(fmt::format("was written by a newer dptrain ({}): its state has format {}, this one reads up to {}",
                              group.text("dptrain_version").value_or("version unknown"), *format, kStateFormat));
  return group.contains(name) ? group.dataset(name).text_value() : "";
}

std::vector<std::pair<std::string, Hdf5Dataset>> Contents::arrays() const {
  std::vector<std::pair<std::string, Hdf5Dataset>> all;
  if (!has_state()) return all;
  const std::optional<Hdf5Group> group = root.group(kStateGroup).find_group("arrays");
  if (!group) return all;
  for (std::string& name : group->list("names")) {
    Hdf5Dataset dataset = group->dataset(name);
    all.emplace_back(std::move(name), std::move(dataset));
  }
  return all;
}

}  // namespace dptrain::checkpoint
