#pragma once

// Reads a Keras model from its config: layers, their calls, nested models, in both dialects of `inbound_nodes`. Pure;
// the text is untrusted.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace dptrain::formats {

/// One output of one call of a layer.
struct KerasTensor {
  std::size_t layer = 0;
  std::size_t call = 0, output = 0;
};

struct KerasModel;

/// A mask argument of a call: "mask", "query_mask". No tensor: the file states that the call has no mask.
struct KerasMask {
  std::string keyword;
  std::optional<KerasTensor> tensor;
};

/// The `mask` of a step in a file of dptrain (keras::kMasks).
struct KerasOwnMask {
  bool is_given = false;
  std::optional<KerasTensor> tensor;  ///< nothing: "none"
};

struct KerasLayer {
  KerasLayer();
  KerasLayer(KerasLayer&&) noexcept;
  KerasLayer& operator=(KerasLayer&&) noexcept;
  ~KerasLayer();

  std::string name, class_name;
  bool trainable = true;
  /// An operation of Keras 3 such as `x + y`, not a layer. Operations neither use nor pass masks.
  bool is_operator = false;
  /// The slice x[:, i]: its output has no axis of steps.
  bool takes_one_step = false;
  /// The number that a NotEqual compares with.
  std::optional<double> operand;
  /// An operation that Keras 3 adds to compute a mask (compute_mask of Embedding, Masking, Attention and merges). No
  /// output of the model depends on it.
  bool of_masks = false;
  std::unique_ptr<nlohmann::json> config;
  /// Null unless the layer is a model.
  std::unique_ptr<KerasModel> model;
  /// The inputs of each call. An InputLayer has one call without inputs.
  std::vector<std::vector<KerasTensor>> calls;
  /// One element for each call, or empty in a Sequential model.
  std::vector<std::vector<KerasMask>> masks;
  std::vector<KerasOwnMask> own_masks;
  std::vector<bool> inference;  ///< training=False
};

struct KerasModel {
  std::string name;
  bool trainable = true;
  std::vector<KerasLayer> layers;
  std::vector<KerasTensor> inputs, outputs;
};

/// Sequential or Functional, without a wrapper of multi_gpu_model. Throws Error{kCheckpoint}.
KerasModel read_keras_model(const std::string& file, const std::string& model_config);

// Members of untrusted JSON of any form. Pure.

/// null if there is no such member.
const nlohmann::json& at(const nlohmann::json& json, const char* key);
/// "" if there is no such text.
std::string text_at(const nlohmann::json& json, const char* key);
/// The list of layers in a model's entry, or null. Early Sequential models have the list itself for a config.
const nlohmann::json* layer_list(const nlohmann::json& model);

}  // namespace dptrain::formats
