#include <array>

#include "checkpoint/atomic_file.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/contents.h"
#include "checkpoint/hdf5/hdf5_writer.h"
#include "checkpoint/seal.h"
#include "core/error.h"
#include "core/format.h"
#include "dptrain_version.h"
#include "export/keras/keras_config.h"

namespace dptrain::checkpoint {
namespace {

std::uint64_t data_bytes(const graph::Model& model, const State& state) {
  std::uint64_t floats = 0;
  for (const graph::Weight& weight : model.weights) floats += weight.values.size();
  for (const NamedArray& array : state.arrays) floats += array.values.size();
  // About 3 KB of groups and headers for each weight and array, as measured.
  const std::uint64_t records = model.weights.size() + model.graph.layers.size() + state.arrays.size();
  return floats * sizeof(float) + records * 3072 + state.resolved_config.size() + state.trainer.size();
}

/// The Keras part: `model_weights/<layer>/<layer>/<weight>:0`, every layer a group, in the order in which Keras pairs
/// them.
void put_weights(Hdf5Writer& file, const graph::Model& model) {
  file.group("model_weights");
  std::vector<std::string> layer_names;
  for (const int index : graph::keras_order(model.graph)) {
    const graph::Layer& layer = model.graph.layers[static_cast<std::size_t>(index)];
    const std::string group = "model_weights/" + layer.name;
    file.group(group);
    std::vector<std::string> weight_names;
    for (const int w : layer.weights) {
      const graph::Weight& weight = model.weights[static_cast<std::size_t>(w)];
      weight_names.push_back(fmt::format("{}/{}:0", layer.name, weight.def.name));
      file.floats(group + "/" + weight_names.back(), weight.def.shape, weight.values);
    }
    file.list_attribute(group, "weight_names", weight_names);
    layer_names.push_back(layer.name);
  }
  file.list_attribute("model_weights", "layer_names", layer_names);
  file.text_attribute("model_weights", "backend", kKerasBackend);
  file.text_attribute("model_weights", "keras_version", kKerasVersion);
}

void put_keras_model(Hdf5Writer& file, const graph::Model& model, const exporting::Compiled& compiled) {
  file.text_attribute("", "keras_version", kKerasVersion);
  file.text_attribute("", "backend", kKerasBackend);
  file.text_attribute("", "model_config", exporting::keras::model_config(model.graph));
  if (const std::string training = exporting::keras::training_config(compiled); !training.empty())
    file.text_attribute("", "training_config", training);
  put_weights(file, model);
}

void put_state(Hdf5Writer& file, const State& state) {
  const std::string group = kStateGroup;
  file.group(group);
  file.number_attribute(group, "format", kStateFormat);
  file.text_attribute(group, "dptrain_version", std::string(kVersion));
  if (!state.resolved_config.empty()) file.text(group + "/resolved_config", state.resolved_config);
  if (!state.trainer.empty()) file.text(group + "/trainer", state.trainer);
  if (state.arrays.empty()) return;
  file.group(group + "/arrays");
  std::vector<std::string> names;
  for (const NamedArray& array : state.arrays) {
    file.floats(group + "/arrays/" + array.name, array.shape, array.values);
    names.push_back(array.name);
  }
  file.list_attribute(group + "/arrays", "names", names);
}

std::uint64_t write_file(const std::string& path, Hdf5Writer& file) {
  const auto bytes = file.bytes();
  const auto seal = seal_of(bytes);
  return write_atomically(path, {bytes, seal});
}

}  // namespace

std::uint64_t save(const std::string& path, const graph::Model& model, const exporting::Compiled& compiled,
                   const State& state) {
  Hdf5Writer file(data_bytes(model, state));
  put_keras_model(file, model, compiled);
  if (!state.class_names.empty()) file.list_attribute("", kClassNames, state.class_names);
  put_state(file, state);
  return write_file(path, file);
}

std::uint64_t export_model(const std::string& path, const graph::Model& model, const exporting::Compiled& compiled,
                           const std::vector<std::string>& class_names) {
  Hdf5Writer file(data_bytes(model, {}));
  put_keras_model(file, model, compiled);
  if (!class_names.empty()) file.list_attribute("", kClassNames, class_names);
  return write_file(path, file);
}

}  // namespace dptrain::checkpoint
