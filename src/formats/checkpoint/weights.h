#pragma once

// Weights from a file of Keras or dptrain into a model, whole or in part: the layers of the file (stored_layers.h) are
// paired with the model's by name or by topology, checked, and only then filled in, so that a file that does not fit
// leaves the model as it was. What went where is in the report. Main thread.

#include <string>
#include <vector>

#include "graph/model.h"

namespace dptrain::formats {

struct FileContents;

struct WeightsReport {
  enum class Fate {
    kLoaded,       ///< from the file
    kPartly,       ///< `skip_mismatch` left some of its weights as they were
    kInitialised,  ///< as drawn
    kUnused,       ///< a layer of the file
  };
  struct Row {
    Fate fate = Fate::kLoaded;
    std::string layer;   ///< the model's, or the file's that is unused
    std::string source;  ///< what the file calls it
    std::string shapes;  ///< "kernel 3x3x3x64, bias 64"
    std::string reason;  ///< why not, "" where there is nothing to say
  };
  std::string file, layout;
  std::string how;                 ///< "by name", "by topology up to 'block5_pool'"
  std::vector<std::string> notes;  ///< what was decided on the way
  std::vector<Row> rows;  ///< layers with weights, the model's in Keras's order, then those of the file that are left

  std::size_t count(Fate fate) const;
  /// "vgg16.h5: 26 of 28 layers by name; initialised: fc, out; unused in the file: fc1, fc2".
  std::string line() const;
  /// The notes and a table of all rows.
  std::string table() const;
};

/// kAll: every layer with weights must have its counterpart, on both sides.
enum class Coverage { kSome, kAll };

/// Throws Error{kCheckpoint}: the file cannot be read, nothing or not enough of it fits (every misfit is listed, with
/// both shapes), `expect` is not met.
WeightsReport load_weights(const graph::WeightsSpec& spec, graph::Model& model, Coverage coverage = Coverage::kSome);
WeightsReport load_weights(const FileContents& contents, const graph::WeightsSpec& spec, graph::Model& model,
                           Coverage coverage);

/// The mean of the weights of several files of one model, "stochastic weight averaging" (Izmailov et al., 2018).
/// Fills the model with the mean over the files, summed in double, statistics of normalisations included. Throws
/// Error{kCheckpoint} where a file cannot be read or is of another model.
void load_average(const std::vector<std::string>& files, graph::Model& model);

}  // namespace dptrain::formats
