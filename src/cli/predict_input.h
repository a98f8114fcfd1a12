#pragma once

// --input of predict as samples without labels, block by block: an IDX or .npy file, rows of a table, arrays of an HDF5
// file, image files, clips, or folders of them. Main thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/source.h"
#include "data/sources/windows.h"
#include "experiment/experiment.h"

namespace dptrain::cli {

struct PredictInput {
  std::string key = "index";  ///< the first column of the output: "index", or what label_place() names
  std::int64_t samples = 0;   ///< 0: not known beforehand
  std::string fingerprint{};  ///< what processes compare
  /// The next samples; null at the end.
  std::function<std::shared_ptr<const data::Source>()> next{};
  /// Samples left out so far that no account of a source has (data::BadSamples).
  std::function<std::vector<data::BadSample>()> take_bad = [] { return std::vector<data::BadSample>{}; };
  /// Columns of a table that `--keep` copies to the output, and their fields for a sample of the last next().
  std::vector<std::string> kept{};
  std::function<std::string(std::int64_t sample, std::size_t which)> kept_field{};

  /// The data set that the model was trained on, if it is one of windows; else null.
  const data::WindowsSpec* windows = nullptr;

  bool is_named() const { return key != "index"; }
};

/// A model that was trained on tables or arrays reads its input as that data set; else the first bytes of a file tell
/// what it is; one such file of arrays stands alone. A model of a Join wants a path for each part (predict_join.h).
/// Images are read as those of the config's data sets (colours, orientation), or, where it has none, with as many
/// channels as the model's input. A model of clips reads them as its data set, or as many frames of the size of its
/// input. `learned`: of the checkpoint (data::Source::learn()). `on_error` ("fail", "skip") goes before the data set's.
/// `keep`: columns to keep as `--keep` has them, lists of names or "all"; of several files all have those of the first.
/// Throws Error{kUsage, kData}.
PredictInput open_predict_input(const std::vector<std::string>& paths, const experiment::Experiment& experiment,
                                const std::string& learned, const std::optional<std::string>& on_error,
                                const std::vector<std::string>& keep = {});

}  // namespace dptrain::cli
