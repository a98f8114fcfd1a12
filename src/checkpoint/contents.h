#pragma once

// What stands where in a checkpoint, for everybody in this room who reads one. The names are part of the file format
// (docs/keras-files.md).

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/hdf5_reader.h"

namespace dptrain::checkpoint {

constexpr const char* kStateGroup = "dptrain_state";
constexpr std::uint32_t kStateFormat = 1;  ///< a reader refuses higher ones
constexpr const char* kClassNames = "class_names";
constexpr const char* kKerasVersion = "2.15.0";
constexpr const char* kKerasBackend = "tensorflow";

/// A layer of a file in Keras's layout. Positions count: names of weights differ between the versions of Keras.
struct StoredLayer {
  std::string name;
  std::vector<std::string> weight_names;  ///< "conv1/kernel:0"
  std::vector<Hdf5Dataset> weights;

  /// "kernel"
  std::string short_name(std::size_t weight) const;
};

/// An open file whose seal, if it has one, fits.
struct Contents {
  Hdf5Group root;
  bool sealed = false;

  static Contents open(const std::string& path);
  static Contents over(std::shared_ptr<const Hdf5Bytes> bytes);

  const Hdf5Bytes& file() const noexcept { return root.file(); }
  bool has_state() const { return root.contains(kStateGroup); }
  bool has_layers() const;
  std::vector<StoredLayer> layers() const;
  std::vector<std::string> class_names() const { return root.list(kClassNames); }
  State state() const;
  std::string trainer() const;
  std::string resolved_config() const;
  std::vector<std::pair<std::string, Hdf5Dataset>> arrays() const;

 private:
  std::string state_text(const char* name) const;
};

void load_weights(const Contents& contents, graph::Model& model);
std::string describe(const Contents& contents);

}  // namespace dptrain::checkpoint
