#pragma once

// A Keras model as its config describes it: layers, the calls of each, models inside of models; both dialects of
// `inbound_nodes`. Read from JSON, not yet flat. Pure; the text may come from anybody.

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace dptrain::checkpoint {

/// One output of one call of a layer.
struct KerasTensor {
  std::size_t layer = 0;
  std::size_t call = 0, output = 0;
};

struct KerasModel;

struct KerasLayer {
  KerasLayer();
  KerasLayer(KerasLayer&&) noexcept;
  KerasLayer& operator=(KerasLayer&&) noexcept;
  ~KerasLayer();

  std::string name, class_name;
  bool trainable = true;
  /// An operation that Keras 3 has put into the model to follow a mask (compute_mask of Embedding, Masking, Attention
  /// and merges): nothing that the model computes reads it.
  bool of_masks = false;
  std::unique_ptr<nlohmann::json> config;
  std::unique_ptr<KerasModel> model;            ///< of a model inside of the model
  std::vector<std::vector<KerasTensor>> calls;  ///< what each call reads; an InputLayer has one that reads nothing
};

struct KerasModel {
  std::string name;
  bool trainable = true;
  std::vector<KerasLayer> layers;
  std::vector<KerasTensor> inputs, outputs;
};

/// Sequential or Functional. A wrapper that multi_gpu_model made is left away. Throws Error{kCheckpoint}.
KerasModel read_keras_model(const std::string& file, const std::string& model_config);

}  // namespace dptrain::checkpoint
