#pragma once

// Loads weights from a file of Keras or dptrain into a model, whole or in part. The layers of the file
// (stored_layers.h) are paired with the model's by name or by topology. All are checked before any is filled, so a file
// that does not fit leaves the model unchanged. The report lists the source of each layer. Main thread.

#include <string>
#include <vector>

#include "graph/model.h"

namespace dptrain::formats {

struct FileContents;

struct WeightsReport {
  enum class LoadStatus {
    kLoaded,       ///< from the file
    kPartly,       ///< `skip_mismatch` skipped some of its weights
    kInitialised,  ///< keeps its initial values
    kUnused,       ///< a layer of the file
  };
  struct Row {
    LoadStatus status = LoadStatus::kLoaded;
    std::string layer;   ///< in the model; an unused one in the file
    std::string source;  ///< its name in the file
    std::string shapes;  ///< "kernel 3x3x3x64, bias 64"
    std::string reason;  ///< why it is not loaded, or ""
  };
  std::string file, layout;
  std::string how;                 ///< "by name", "by topology up to 'block5_pool'"
  std::vector<std::string> notes;  ///< decisions of the reader
  std::vector<Row> rows;           ///< layers with weights: the model's in Keras's order, then unused ones of the file

  std::size_t count(LoadStatus status) const;
  /// "vgg16.h5: 26 of 28 layers by name; initialised: fc, out; unused in the file: fc1, fc2".
  std::string line() const;
  /// The notes and a table of all rows.
  std::string table() const;
};

/// kAll: every layer with weights must have its counterpart, on both sides.
enum class Coverage { kSome, kAll };

/// Throws Error{kCheckpoint} if the file cannot be read, if nothing or not enough of it fits (the message lists every
/// mismatch with both shapes), or if `expect` is not fulfilled.
WeightsReport load_weights(const graph::WeightsSpec& spec, graph::Model& model, Coverage coverage = Coverage::kSome);
WeightsReport load_weights(const FileContents& contents, const graph::WeightsSpec& spec, graph::Model& model,
                           Coverage coverage);

/// Fills the model with the mean of several files, summed in double, statistics of normalizations included ("stochastic
/// weight averaging", Izmailov et al., 2018). Throws Error{kCheckpoint} as load_weights() does.
void load_average(const std::vector<std::string>& files, graph::Model& model);

}  // namespace dptrain::formats
