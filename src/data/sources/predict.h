#pragma once

// Input of `predict --input`: files that the user names instead of a data set's own, without labels. Each data set
// defines how it reads them, with `dataset_def<Spec>(...).predict(open)` (data/sources/dataset.h). Main thread.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "data/images/image.h"
#include "data/on_error.h"
#include "data/source.h"
#include "data/table/row_stream.h"

namespace dptrain::data {

/// x * deviation + mean undoes the scale of a label.
struct LabelScale {
  double mean = 0, deviation = 1;
};

/// Files that the user names, and the state of the data set in the checkpoint.
struct PredictFiles {
  std::vector<std::string> paths;
  std::vector<config::Typed> sets{};        ///< data sets of the model's config: test, validation, train
  std::string fitted_state{};               ///< state in the checkpoint (Source::fit())
  std::optional<bool> skip{};               ///< `--on-error`; absent: the data set's on_error
  table::PassthroughColumns passthrough{};  ///< `--keep`: columns of tables to copy
  bool is_part = false;                     ///< one path, for a part of a Join

  /// The data set's policy after `--on-error`. A part of a Join has no limit.
  OnError policy(const OnError& known) const;
};

/// Samples without labels, block by block.
struct PredictSource {
  std::string key = "index";  ///< the first column of the output: "index", or what label_place() names
  std::int64_t samples = 0;   ///< 0: unknown until they are read
  std::string fingerprint{};  ///< compared between processes
  std::string input_name{};   ///< name of the only input in a Join; "": the Join's name of the part
  /// The next samples; null at the end.
  std::function<std::shared_ptr<const Source>()> next{};
  /// Samples skipped since the last call. No BadSamples of a source contains them.
  std::function<std::vector<BadSample>()> take_bad_samples = [] { return std::vector<BadSample>{}; };
  /// Columns that PredictFiles::passthrough names, and their fields for a sample of the last next().
  std::vector<std::string> passthrough{};
  std::function<std::string(std::int64_t sample, std::size_t which)> passthrough_field{};
  /// The scales of an output of `width` values; unset: none.
  std::function<std::vector<LabelScale>(std::int64_t width)> label_scales{};

  bool is_named() const { return key != "index"; }
};

/// The first bytes of a file.
using FileHead = std::array<unsigned char, 4>;
/// nullopt if the file is shorter or cannot be read.
std::optional<FileHead> head_of(const std::string& path);

/// Kinds of files that a data set reads. Without `format` and `fits` it reads all files, but only for models that were
/// trained on it.
struct PredictTraits {
  /// Name of the array format with these first bytes, "an IDX file"; "" for another format. Applies to all models.
  std::string (*format)(const FileHead& head) = nullptr;
  /// Whether the data set reads files of other formats for this model. True for exactly one at each rank of the input.
  bool (*fits)(const ModelSide& model) = nullptr;
  const char* expected_input = "images, clips or arrays";     ///< expected input, in messages
  std::vector<FileKind::Use> refused{FileKind::Use::kTable};  ///< kinds of files that are an error
  bool supports_passthrough = false;                          ///< supports `--keep`
  bool reads_parts = true;                                    ///< can be a part of a Join

  bool needs_trained_model() const { return format == nullptr && fits == nullptr; }
};

/// Opens files for a model that was trained or evaluated on `files.sets`. The first set that reads all files opens
/// them. Otherwise the first bytes determine the format: one file of arrays, or images or clips. Throws Error{kUsage,
/// kData, kCheckpoint}.
PredictSource open_for_predict(const PredictFiles& files, const ModelSide& model);

// For implementations.

/// All samples at once.
PredictSource whole_source(std::shared_ptr<const Source> source, const std::string& key = "index");
/// Determines the format from the file's first bytes, as open_for_predict() without a data set that reads all files.
PredictSource open_by_format(const PredictFiles& files, const ModelSide& model);
/// Throws Error{kUsage} if the model was trained on other data than the `type`, whose spec names the arrays of a file.
void require_trained(const void* spec, const PredictFiles& files, const char* type);
/// Opens a data set of arrays whose spec names the user's file.
PredictSource open_arrays(const config::Typed& set, const PredictFiles& files, const ModelSide& model);
/// Color mode with the channels of the model's first input. Throws Error{kUsage} unless they are 1, 3 or 4.
ColorMode color_of_input(const ModelSide& model);
/// Throws Error{kUsage}: the file at `path` cannot be the part `type` of the model's Join. `words`: the reason.
[[noreturn]] void fail_part(const std::string& path, const std::string& type, const std::string& words);

}  // namespace dptrain::data
