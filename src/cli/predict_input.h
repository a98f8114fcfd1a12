#pragma once

// --input of predict: an IDX or .npy file, image files, clips, or folders of them, as a source without labels. Main
// thread.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/source.h"
#include "experiment/experiment.h"

namespace dptrain::cli {

struct PredictInput {
  std::shared_ptr<const data::Source> source;
  bool files = false;  ///< samples are files, which label_place() names
};

/// The first bytes of a file tell what it is; one such file of arrays stands alone. Images are read as those of the
/// config's data sets (colours, orientation), or, where it has none, with as many channels as the model's input. A
/// model of clips reads them as its data set, or as many frames of the size of its input. `on_error` ("fail", "skip")
/// goes before the data set's. Throws Error{kUsage, kData}.
PredictInput open_predict_input(const std::vector<std::string>& paths, const experiment::Experiment& experiment,
                                const std::optional<std::string>& on_error);

}  // namespace dptrain::cli
