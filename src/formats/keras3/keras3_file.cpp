// Writes a model as a `.keras` file of Keras 3: a zip archive of metadata.json, config.json and model.weights.h5. Class
// names and fitted statistics, which Keras ignores, are in the root of model.weights.h5.

#include <map>

#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "core/zip.h"
#include "formats/exporter.h"
#include "formats/keras/keras_file.h"
#include "formats/keras/keras_layer.h"
#include "formats/keras3/keras3_config.h"
#include "graph/definitions.h"
#include "nn/wrappers.h"

namespace dptrain::formats::keras {
namespace {

/// Keras 3's name of the part of a layer that owns a weight, from the weight's scope in Keras 2.
std::string part_of(const std::string& scope) {
  if (scope == "query" || scope == "key" || scope == "value") return scope + "_dense";
  if (scope == "attention_output") return "output_dense";
  if (scope.starts_with("forward_")) return "forward_layer";
  if (scope.starts_with("backward_")) return "backward_layer";
  if (scope.ends_with("_cell")) return "cell";
  throw Error(ErrorKind::kInternal, fmt::format("no place in a .keras file for weights of '{}'", scope));
}

/// Group of a weight's variables within its layer's: "forward_layer/cell/vars".
std::string variables_of(const graph::Layer& layer, const std::string& weight) {
  std::string path = layer.spec.type() == typeid(nn::TimeDistributedSpec) ? "layer/" : "";
  std::size_t from = 0;
  for (std::size_t slash = weight.find('/'); slash != std::string::npos; slash = weight.find('/', from)) {
    path += part_of(weight.substr(from, slash - from)) + "/";
    from = slash + 1;
  }
  return path + "vars";
}

/// Groups have the names of classes, the second of a class is "conv2d_1"; variables of a part are numbered.
void put_layers(Hdf5Writer& file, const graph::Model& model) {
  std::map<std::string, int> of_class;
  for (const int index : graph::keras_order(model.graph)) {
    const graph::Layer& layer = model.graph.layers[static_cast<std::size_t>(index)];
    const std::string type = class_name(layer.spec), kind = graph::snake_case(type.substr(type.find('>') + 1));
    const int before = of_class[kind]++;
    const std::string group = "layers/" + (before == 0 ? kind : fmt::format("{}_{}", kind, before));
    file.group(group + "/vars");
    file.text_attribute(group + "/vars", "name", layer.name);
    std::map<std::string, int> counts;
    for (const int w : layer.weights) {
      const graph::Weight& weight = model.weights[static_cast<std::size_t>(w)];
      const std::string variables = group + "/" + variables_of(layer, weight.def.name);
      file.floats(fmt::format("{}/{}", variables, counts[variables]++), weight.def.shape, weight.values);
    }
  }
}

/// In the order of slot_names().
void put_optimizer(Hdf5Writer& file, const Exported& exported) {
  const CompileConfig& compiled = exported.compiled;
  if (!exported.optimizer_state || !compiled.optimizer || compiled.outputs.empty()) return;
  const OptimizerState& state = *exported.optimizer_state;
  std::map<std::string, const NamedArray*> arrays;
  for (const NamedArray& array : state.slots) arrays.emplace(array.name, &array);
  const std::vector<std::string> names = slot_names(compiled.optimizer, exported.model);
  for (const std::string& name : names)
    if (!arrays.contains(name))
      throw Error(ErrorKind::kUsage,
                  fmt::format("the optimizer's state has no '{}': it is that of another optimizer", name));
  const std::string group = "optimizer/vars";
  file.group(group);
  file.text_attribute(group, "name", graph::snake_case(compiled.optimizer.name()));
  file.whole_number(group + "/0", state.iterations);
  int next = 1;
  const auto put = [&](const Shape& shape, std::span<const float> values) {
    file.floats(fmt::format("{}/{}", group, next++), shape, values);
  };
  const float rate = static_cast<float>(compiled.learning_rate);
  put({}, std::span(&rate, 1));
  for (const std::string& name : names) put(arrays.at(name)->shape, arrays.at(name)->values);
  if (const auto product = momentum_product(compiled.optimizer, state.iterations)) {
    const auto value = static_cast<float>(*product);
    put({}, std::span(&value, 1));
  }
}

void put_all(Hdf5Writer& file, const Exported& exported) {
  put_layers(file, exported.model);
  keras::put_data_facts(file, exported);
}

std::uint64_t write_archive(const std::string& path, const Exported& exported) {
  std::uint64_t floats = 0;
  if (exported.optimizer_state)
    for (const NamedArray& array : exported.optimizer_state->slots) floats += array.values.size();
  Hdf5Writer file(expected_bytes(exported.model) + expected_bytes(floats, exported.model.weights.size()) +
                  exported.fitted_state.size());
  put_all(file, exported);
  put_optimizer(file, exported);
  const std::string metadata = keras3_metadata(), config = keras3_config(exported.model.graph, exported.compiled);
  return write_zip(path, {{"metadata.json", std::as_bytes(std::span(metadata))},
                          {"config.json", std::as_bytes(std::span(config))},
                          {"model.weights.h5", file.bytes()}});
}

/// Writes only the weights, for `model.load_weights`: a .keras without the model.
std::uint64_t write_weights(const std::string& path, const Exported& exported) {
  Hdf5Writer file(expected_bytes(exported.model) + exported.fitted_state.size());
  put_all(file, exported);
  return write_atomically(path, {file.bytes()});
}

std::uint64_t write(const std::string& path, const Exported& exported) {
  return path.ends_with(".keras") ? write_archive(path, exported) : write_weights(path, exported);
}

const RegisteredExporter kKeras3(
    {.name = "Keras3", .suffixes = {".keras", ".weights.h5"}, .write = write, .advice = keras_advice});

}  // namespace
}  // namespace dptrain::formats::keras
