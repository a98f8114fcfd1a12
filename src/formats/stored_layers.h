#pragma once

// The layers of a Keras file and their weights, in any of Keras's layouts: the legacy tree of `layer_names` (Keras 1, 2
// and 3; whole models or only weights) and the tree of object paths (`.weights.h5`, inside of `.keras`). Nested
// models are flattened into the layers that own weights or could own them. Values stay in the file until floats()
// reads them. One thread at a time.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "formats/hdf5/hdf5_reader.h"
#include "formats/safetensors/safetensors.h"

namespace dptrain::formats {

// The layers of a Keras `model_config`, as far as finding their weights in a file requires: names, classes and nested
// models. Pure functions; the text is untrusted.

struct ConfigLayer {
  std::string name, class_name;
  bool is_model = false;
  std::vector<ConfigLayer> inner;  ///< layers of a model, in its order
};

/// Layers of the outermost model, in its order; empty if the text is not a model's config.
std::vector<ConfigLayer> config_layers(const std::string& model_config);

/// The inner model if a model only passes slices of the batch to it and concatenates the results, as multi_gpu_model of
/// Keras 2 does; else null.
const ConfigLayer* multi_gpu_core(const std::vector<ConfigLayer>& layers);

// A float array of a file in any format. Its values stay in the file until floats() reads them. Cheap to copy.

class StoredArray {
 public:
  StoredArray(Hdf5Dataset dataset) : of_(std::move(dataset)) {}   // NOLINT(google-explicit-constructor)
  StoredArray(SafetensorsArray array) : of_(std::move(array)) {}  // NOLINT(google-explicit-constructor)

  Shape shape() const {
    return std::visit([](const auto& of) { return Shape(of.shape()); }, of_);
  }
  std::uint64_t elements() const {
    return std::visit([](const auto& of) { return of.elements(); }, of_);
  }
  /// Whether these are Keras's quantized weights. A .safetensors file with such weights is refused when it is opened.
  bool is_int8() const {
    const auto* const dataset = std::get_if<Hdf5Dataset>(&of_);
    return dataset != nullptr && dataset->is_int8();
  }
  /// Throws Error{kCheckpoint} for damaged data.
  std::vector<float> floats() const {
    return std::visit([](const auto& of) { return of.floats(); }, of_);
  }

 private:
  std::variant<Hdf5Dataset, SafetensorsArray> of_;
};

/// A layer of a file in one of Keras's layouts. Weights are identified by position: their names differ between versions
/// of Keras.
struct StoredLayer {
  std::string name;                       ///< the layer's name, or the path of its group if the file has none
  std::vector<std::string> weight_names;  ///< "conv1/kernel:0"
  std::vector<StoredArray> weights;
  std::string scope;  ///< names of the enclosing models, "outer/inner"; "": the file's own model
  std::string kind;   ///< its class in snake case if the file has it: "conv2d"
  bool named = true;  ///< false: `name` is only a path

  /// "kernel"; "query/kernel" if several names end alike.
  std::string short_name(std::size_t weight) const;
  /// "backbone/conv1"
  std::string full_name() const { return scope.empty() || !named ? name : scope + "/" + name; }
};

struct StoredLayers {
  std::vector<StoredLayer> layers;
  std::string layout;              ///< "Keras 2.15.0 .h5", "Keras .weights.h5"
  bool ordered = true;             ///< false: in the order of a model only within each class (`kind`)
  std::vector<std::string> notes;  ///< remarks for the report, for example on nested models
};

/// Whether the file has a tree that read_stored_layers can read.
bool has_stored_layers(const Hdf5Group& root);
/// `model_config`: JSON or ""; it gives classes, order, and which layers are models. Throws Error{kCheckpoint}.
StoredLayers read_stored_layers(const Hdf5Group& root, const std::string& model_config);

}  // namespace dptrain::formats
