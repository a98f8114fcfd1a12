#pragma once

// The layout of a checkpoint for its readers. The names are part of the file format (docs/reference/keras-files.md).

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/checkpoint/checkpoint.h"
#include "formats/hdf5/hdf5_reader.h"
#include "formats/keras/keras_file.h"
#include "formats/stored_layers.h"

namespace dptrain::formats {

constexpr const char* kStateGroup = "dptrain_state";
constexpr std::uint32_t kStateFormat = 1;  ///< a reader refuses higher ones

/// An open file. Its seal, if any, has been checked.
struct FileContents {
  Hdf5Group root;
  bool sealed = false;
  /// config.json and metadata.json of a `.keras` file, else "". `root` is its model.weights.h5.
  std::string archive_config{}, archive_metadata{};
  /// Layers of a safetensors file. `root` then has its texts.
  std::optional<StoredLayers> tensors{};
  std::uint64_t size = 0;  ///< bytes of the whole file

  static FileContents open(const std::string& path);
  static FileContents from_bytes(std::shared_ptr<const Hdf5Bytes> bytes);

  const Hdf5Bytes& file() const noexcept { return root.file(); }
  bool has_state() const { return root.contains(kStateGroup); }
  bool has_layers() const { return tensors || has_stored_layers(root); }
  /// JSON, or "". Throws Error{kCheckpoint} if it is nested too deeply.
  std::string model_config() const;
  std::string training_config() const;
  std::string trainer() const;
  /// Version of the Keras that wrote the file according to the file, "3.4.1", or "".
  std::string keras_version() const;
  /// Whether dptrain wrote the file. Its files state a version of Keras, too.
  bool by_dptrain() const;
  StoredLayers stored() const { return tensors ? *tensors : read_stored_layers(root, model_config()); }
  std::vector<StoredLayer> layers() const { return stored().layers; }
  ClassNames class_names() const;
  std::string fitted_state() const;  ///< JSON, or ""
  CheckpointState state() const;
  std::string resolved_config() const;
  std::vector<std::pair<std::string, Hdf5Dataset>> arrays() const;

 private:
  std::string state_text(const char* name) const;
  std::string metadata(const char* key) const;  ///< a text of metadata.json, or ""
  void check_depth(const std::string& json, const char* what) const;
};

void load_weights(const FileContents& contents, graph::Model& model);
std::string describe_file(const FileContents& contents);

}  // namespace dptrain::formats
