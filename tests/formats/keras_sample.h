#pragma once

// Files of different versions of Keras, made in memory.

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "formats/checkpoint/weights.h"
#include "formats/checkpoint_sample.h"
#include "formats/contents.h"
#include "formats/hdf5/hdf5_writer.h"
#include "graph/example.h"

namespace dptrain::formats::sample {

struct FileLayer {
  std::string name;
  std::vector<std::pair<std::string, Shape>> weights;  ///< path within the layer's group
};

/// The values of the n-th weight of a file, counted over all layers.
inline std::vector<float> values_of(std::size_t n, const Shape& shape) {
  return numbers(static_cast<std::size_t>(shape.elements()), 1000 + static_cast<std::uint32_t>(n));
}

struct FileStyle {
  std::string keras_version = "2.15.0";  ///< "": a file of Keras 1, which has no version
  std::string model_config = {};         ///< "": only weights, at the root
};

/// The layout of legacy files.
inline FileContents legacy_file(const std::vector<FileLayer>& layers, const FileStyle& style = {}) {
  Hdf5Writer file(1 << 16);
  const std::string top = style.model_config.empty() ? "" : "model_weights";
  const std::string below = top.empty() ? "" : top + "/";
  if (!top.empty()) {
    file.group(top);
    file.text_attribute("", "model_config", style.model_config);
  }
  if (!style.keras_version.empty()) file.text_attribute(top, "keras_version", style.keras_version);
  std::vector<std::string> names;
  std::size_t n = 0;
  for (const FileLayer& layer : layers) {
    file.group(below + layer.name);
    std::vector<std::string> weights;
    for (const auto& [path, shape] : layer.weights) {
      file.floats(below + layer.name + "/" + path, shape, values_of(n++, shape));
      weights.push_back(path);
    }
    file.list_attribute(below + layer.name, "weight_names", weights);
    names.push_back(layer.name);
  }
  file.list_attribute(top, "layer_names", names);
  const auto bytes = file.bytes();
  return FileContents::from_bytes(checkpoint_bytes("keras.h5", {bytes.begin(), bytes.end()}));
}

/// A convolution or a dense layer with the names of Keras 2.
inline FileLayer with_bias(const std::string& name, const Shape& kernel) {
  return {name, {{name + "/kernel:0", kernel}, {name + "/bias:0", {kernel.back()}}}};
}

inline graph::Model model_of(const std::string& yaml) { return graph::make_model(graph::graph_of(yaml), 3); }

inline const std::vector<float>& weight(const graph::Model& model, const std::string& path) {
  for (const graph::Weight& weight : model.weights)
    if (weight.path(model.graph) == path) return weight.values;
  throw std::runtime_error("no weight " + path);
}

/// The message of a load's error; "" for none.
inline std::string refusal_of(const FileContents& contents, const graph::WeightsSpec& spec, graph::Model& model,
                              Coverage coverage = Coverage::kSome) {
  try {
    load_weights(contents, spec, model, coverage);
  } catch (const Error& error) {
    return error.kind() == ErrorKind::kCheckpoint ? error.what() : "another kind of error";
  }
  return "";
}

}  // namespace dptrain::formats::sample
