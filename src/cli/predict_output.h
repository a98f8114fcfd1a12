#pragma once

// What predict writes: a CSV with a row for each sample, .npy files, or a folder of masks. Each process makes the bytes
// of its samples, and process 0 writes those of all processes in order. Main thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"
#include "data/source.h"
#include "data/sources/predict.h"
#include "data/transform.h"
#include "evaluation/classes.h"
#include "experiment/experiment.h"

namespace dptrain::cli {

enum class OutputKind { kCsv, kArrays, kMasks };

/// An output of the model, or the layer that `--layer` names.
struct PredictedOutput {
  std::string name;  ///< "": the only one
  Shape shape;
  evaluation::Classes classes;
  DType type = DType::kF32;
  std::string layer{};                     ///< `--layer`
  std::vector<data::LabelScale> scales{};  ///< for each value, or none

  /// Whether it has a class at each position of an image.
  bool is_mask() const { return classes.known() && classes.positions() > 1 && shape.rank() == 3; }
};

/// The flags of predict that concern its output.
struct PredictOutputFlags {
  std::optional<std::string> output{};  ///< absent: stdout
  std::vector<std::string> inputs{}, keep{};
  std::optional<std::int64_t> top{};
  bool probabilities = false, overwrite = false;
};

/// Kind of `--output`: .npy files, masks (a path that is a folder, ends with '/' or, for a model with masks, has no
/// suffix of a file), or else CSV. Throws Error{kUsage} for masks of a model without them.
OutputKind output_kind(const std::optional<std::string>& path, const std::vector<PredictedOutput>& outputs);

/// Throws Error{kUsage} if the flags do not fit the kind or the outputs.
void check_output(OutputKind kind, const PredictOutputFlags& flags, const std::vector<PredictedOutput>& outputs);

/// A sample of a block of data::PredictSource.
struct PredictedSample {
  const data::Source& block;
  std::int64_t index = 0;   ///< in the block
  std::int64_t before = 0;  ///< number of samples of earlier blocks
};

class PredictWriter {
 public:
  virtual ~PredictWriter() = default;
  /// Appends the bytes of a sample to `rows`. `values`: those of each output. Any process.
  virtual void add(const PredictedSample& sample, const std::vector<const std::byte*>& values, std::string& rows) = 0;
  /// Writes the bytes of samples of all processes, of one block. Process 0.
  virtual void write(const data::Source& block, const std::string& rows) = 0;
  /// Completes the output. Process 0. Returns a text for the log, "preds.csv (12 rows)".
  virtual std::string finish(std::int64_t samples) = 0;
};

/// All members must outlive the writer.
struct WriterSetting {
  const PredictOutputFlags& flags;
  const std::vector<PredictedOutput>& outputs;
  const data::PredictSource& input;
  const data::ModelSide& model;
  const data::Pipeline& pipeline;  ///< transforms of evaluation
  const experiment::DataSection& data;
  bool is_first = true;  ///< this is process 0, which opens files
};
/// Requires check_output(). `samples`: the first block of the input, or null. Throws Error{kUsage, kWrite}.
std::unique_ptr<PredictWriter> make_writer(OutputKind kind, const WriterSetting& setting, const data::Source* samples);

/// The path of an output's array: "preds.npy", "preds-kind.npy" for one of several outputs.
std::string array_path(const std::string& path, const std::string& output);

}  // namespace dptrain::cli
