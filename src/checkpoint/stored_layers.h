#pragma once

// The layers of a Keras file and their weights, in whichever of Keras's layouts: the legacy tree of `layer_names`
// (Keras 1, 2 and 3; whole models and weights alone) and the tree of object paths (`.weights.h5`, inside of `.keras`).
// Models inside of models are opened up: what is returned are the layers that own weights or could. Values stay in the
// file until they are asked for. One thread at a time.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "checkpoint/hdf5/hdf5_reader.h"
#include "checkpoint/safetensors/safetensors.h"

namespace dptrain::checkpoint {

// The layers of a Keras `model_config`, as far as one needs to find their weights in a file: names, classes, models
// inside of models. Pure functions; the text may come from anybody.

struct ConfigLayer {
  std::string name, class_name;
  bool is_model = false;
  std::vector<ConfigLayer> inner;  ///< of a model, in its order
};

/// Of the outermost model, in its order; empty where the text is no model's config.
std::vector<ConfigLayer> config_layers(const std::string& model_config);

/// Whether a model only hands slices of the batch to one inner model and puts the results together again, which is what
/// multi_gpu_model of Keras 2 made; then that inner model's layer.
const ConfigLayer* multi_gpu_core(const std::vector<ConfigLayer>& layers);

// A float array of a file of whichever format; its values stay in the file until they are asked for. Cheap to copy.

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
  /// Keras's quantized weights; a .safetensors file with them is refused when it is opened.
  bool is_int8() const {
    const auto* const dataset = std::get_if<Hdf5Dataset>(&of_);
    return dataset != nullptr && dataset->is_int8();
  }
  /// Throws Error{kCheckpoint} for what is damaged.
  std::vector<float> floats() const {
    return std::visit([](const auto& of) { return of.floats(); }, of_);
  }

 private:
  std::variant<Hdf5Dataset, SafetensorsArray> of_;
};

/// A layer of a file in one of Keras's layouts. Positions count: names of weights differ between the versions of Keras.
struct StoredLayer {
  std::string name;                       ///< the layer's; the path of its group where the file names none
  std::vector<std::string> weight_names;  ///< "conv1/kernel:0"
  std::vector<StoredArray> weights;
  std::string scope;  ///< names of the models that it stands in, "outer/inner"; "": the file's own model
  std::string kind;   ///< its class in snake case where the file says it: "conv2d"
  bool named = true;  ///< false: `name` is only a path

  /// "kernel"; "query/kernel" where several end so.
  std::string short_name(std::size_t weight) const;
  /// "backbone/conv1"
  std::string full_name() const { return scope.empty() || !named ? name : scope + "/" + name; }
};

struct StoredLayers {
  std::vector<StoredLayer> layers;
  std::string layout;              ///< "Keras 2.15.0 .h5", "Keras .weights.h5"
  bool ordered = true;             ///< false: in the order of a model only within each class (`kind`)
  std::vector<std::string> notes;  ///< what was opened up, for the report
};

/// Whether there is a tree that read_stored_layers can read.
bool has_stored_layers(const Hdf5Group& root);
/// `model_config`: JSON, where there is one; it tells classes, order and which layers are models. Throws
/// Error{kCheckpoint}.
StoredLayers read_stored_layers(const Hdf5Group& root, const std::string& model_config);

}  // namespace dptrain::checkpoint
