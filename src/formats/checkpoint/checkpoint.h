#pragma once

// A checkpoint: one HDF5 file that is a Keras model (docs/reference/keras-files.md) and holds, in the private root
// group `dptrain_state`, everything that `--resume` needs. It depends on the Model only, not on devices or replicas.
// Writing is atomic: temporary name, fsync, rename, fsync of the folder. Not thread-safe for one file; the HDF5 library
// has one lock.

#include <cstdint>
#include <string>
#include <vector>

#include "core/class_names.h"
#include "formats/compile_config.h"
#include "graph/model.h"

namespace dptrain::formats {

/// Beyond the model. The file omits empty members.
struct CheckpointState {
  std::string resolved_config;       ///< YAML; enough to build the model, the data and the transforms again
  std::string trainer;               ///< JSON, the trainer's own: position, sums, callbacks, learning rate, choices
  std::vector<NamedArray> arrays{};  ///< optimizer slots, averages, best weights of EarlyStopping
  ClassNames class_names{};
  std::string fitted_state{};  ///< JSON: state fitted to the training data, data::Source::fit()
};

/// Holds the whole file in memory while it is written, and returns bytes written. Throws Error{kWrite}: the old file is
/// untouched and no temporary file remains. Exporter writes the file without the private group.
std::uint64_t save_checkpoint(const std::string& path, const graph::Model& model, const CompileConfig& compiled,
                              const CheckpointState& state);
/// Reads the private group and checks the file's CRC attributes. Throws Error{kCheckpoint} for a file that is damaged,
/// not HDF5, or not dptrain's.
CheckpointState read_state(const std::string& path);
/// Reads the class names in a checkpoint or an exported model; empty if the file has none.
ClassNames read_class_names(const std::string& path);
/// Reads CheckpointState::fitted_state of a checkpoint or an exported model; "" if the file has none or cannot be read,
/// which load_weights() reports.
std::string read_fitted_state(const std::string& path);
bool is_checkpoint(const std::string& path);  ///< HDF5 with a private group or a Keras layout
/// A Keras layout without the private group: model.h5, Keras's own files.
bool is_weights_only(const std::string& path);
bool has_model(const std::string& path);  ///< the file describes its layers. Throws Error{kCheckpoint}

/// Fills every weight of the model, by layer and weight name. Throws Error{kCheckpoint} that lists each mismatch:
/// "layer 'conv2' kernel is 3x3x32x64 in the file, 3x3x32x32 in the model".
void load_weights(const std::string& path, graph::Model& model);

/// One line per difference or one table; see `ckpt show` and `ckpt diff`.
std::string describe_file(const std::string& path);
struct FileDifference {
  std::string report;
  /// Weights, arrays of the state, class names and fitted statistics; differences of other texts are only reported.
  bool equal = true;
};
FileDifference compare_files(const std::string& a, const std::string& b, double tolerance);

}  // namespace dptrain::formats
