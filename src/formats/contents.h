#pragma once

// The layout of a checkpoint for its readers. The names are part of the file format
// (docs/keras-files.md).

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

/// An open file whose seal, if it has one, fits.
struct FileContents {
  Hdf5Group root;
  bool sealed = false;
  /// Of a `.keras` file, whose model.weights.h5 root then is: config.json and metadata.json; "" where there is none.
  std::string archive_config{}, archive_metadata{};
  /// The layers of a safetensors file, whose texts then stand in `root`.
  std::optional<StoredLayers> tensors{};
  std::uint64_t size = 0;  ///< of the whole file

  static FileContents open(const std::string& path);
  static FileContents over(std::shared_ptr<const Hdf5Bytes> bytes);

  const Hdf5Bytes& file() const noexcept { return root.file(); }
  bool has_state() const { return root.contains(kStateGroup); }
  bool has_layers() const { return tensors || has_stored_layers(root); }
  /// Texts of JSON, or "". Throws Error{kCheckpoint} if they nest too deeply.
  std::string model_config() const;
  std::string training_config() const;
  std::string trainer() const;
  /// The version of Keras that the file names as its writer, "3.4.1", or "".
  std::string keras_version() const;
  /// dptrain's files name a version of Keras, too.
  bool by_dptrain() const;
  StoredLayers stored() const { return tensors ? *tensors : read_stored_layers(root, model_config()); }
  std::vector<StoredLayer> layers() const { return stored().layers; }
  ClassNames class_names() const;
  std::string learned() const;  ///< text of JSON, or ""
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
