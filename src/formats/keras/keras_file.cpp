#include "formats/keras/keras_file.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/crc32.h"
#include "core/files.h"
#include "core/format.h"
#include "formats/hdf5/hdf5_writer.h"
#include "formats/keras/keras_config.h"
#include "formats/keras/keras_graph.h"
#include "formats/keras/keras_layer.h"

namespace dptrain::formats::keras {
namespace {

constexpr const char* kClaimedVersion = "2.15.0";  ///< for tools: no loader depends on it
constexpr const char* kClaimedBackend = "tensorflow";

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
  file.text_attribute("model_weights", "backend", kClaimedBackend);
  file.text_attribute("model_weights", "keras_version", kClaimedVersion);
}

std::uint64_t write_keras(const std::string& path, const Exported& exported) {
  Hdf5Writer file(expected_bytes(exported.model) + exported.fitted_state.size());
  put_model(file, exported);
  return write_sealed(path, file);
}

/// `.weights.h5` is Keras's suffix for files with only weights.
const RegisteredExporter kKeras(
    {.name = "Keras", .suffixes = {".h5"}, .others = {".weights.h5"}, .write = write_keras, .advice = keras_advice});

}  // namespace

std::vector<std::string> keras_advice(const std::string& path, const graph::Graph& graph) {
  std::vector<std::string> all = masks_advice(graph);
  for (const graph::Layer& layer : graph.layers) {
    const std::string& script = layer_form(layer.spec).custom_objects;
    if (script.empty()) continue;
    const std::string file = path.substr(path.rfind('/') + 1);
    std::string advice =
        fmt::format("Keras has no {}: it opens {} with custom_objects ({})", layer.spec.name(), file, script);
    if (std::ranges::find(all, advice) == all.end()) all.push_back(std::move(advice));
  }
  return all;
}

std::uint64_t expected_bytes(std::uint64_t floats, std::uint64_t records) {
  return floats * sizeof(float) + records * 3072;  // about 3 KB of groups and headers for each weight, as measured
}

std::uint64_t expected_bytes(const graph::Model& model) {
  std::uint64_t floats = 0;
  for (const graph::Weight& weight : model.weights) floats += weight.values.size();
  return expected_bytes(floats, model.weights.size() + model.graph.layers.size());
}

std::string class_names_of_outputs(const ClassNames& names) {
  if (!names.has_named_output()) return "";
  nlohmann::ordered_json all;
  for (const ClassNames::Entry& entry : names.entries()) all[entry.output] = entry.names;
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void put_data_facts(Hdf5Writer& file, const Exported& exported) {
  if (!exported.class_names.empty()) file.list_attribute("", kClassNames, exported.class_names.first());
  if (const std::string names = class_names_of_outputs(exported.class_names); !names.empty())
    file.text(kClassNamesOfOutputs, names);
  if (!exported.fitted_state.empty()) file.text(kFittedStateKey, exported.fitted_state);
}

void put_model(Hdf5Writer& file, const Exported& exported) {
  file.text_attribute("", "keras_version", kClaimedVersion);
  file.text_attribute("", "backend", kClaimedBackend);
  file.text_attribute("", "model_config", model_config(exported.model.graph));
  if (const std::string training = training_config(exported.compiled); !training.empty())
    file.text_attribute("", "training_config", training);
  put_weights(file, exported.model);
  put_data_facts(file, exported);
}

std::uint64_t write_sealed(const std::string& path, Hdf5Writer& file) {
  const auto bytes = file.bytes();
  const auto end = seal(crc32(bytes));
  return write_atomically(path, {bytes, end});
}

}  // namespace dptrain::formats::keras
