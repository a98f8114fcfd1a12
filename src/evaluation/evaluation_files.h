#pragma once

// Writes an evaluation result into a folder: eval.json, CSV tables and SVG pictures (docs/reference/run-directory.md).
// Main thread of the writing process.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/source.h"
#include "evaluation/evaluation_result.h"
#include "experiment/experiment.h"

namespace dptrain::evaluation {

/// An evaluation result with its context.
struct EvaluatedModel {
  const experiment::Experiment& experiment;
  const std::string& checkpoint;  ///< as named in eval.json
  const EvaluationResult& evaluation_result;
  std::shared_ptr<const data::Source> samples;  ///< the data set, to show its worst samples
};

/// The data set that is evaluated by default: test, else validation; "" if there is neither.
std::string default_set(const experiment::Experiment& experiment);

/// "kind_f1" for an output named "kind", "f1" for one without a name.
std::string score_name(const std::string& output, const std::string& score);
/// "recall of road", or "kind: recall of road" for an output named "kind".
std::string class_score_name(const std::string& output, const std::string& score, const std::string& name);

/// The text of eval.json.
std::string evaluation_json(const EvaluatedModel& evaluated);
/// Writes eval.json and the tables, and returns their paths. Throws Error{kWrite}.
std::vector<std::string> write_numbers(const EvaluatedModel& evaluated, const std::filesystem::path& folder);
/// Draws the pictures and returns their paths. Throws Error{kWrite}.
std::vector<std::string> write_pictures(const EvaluatedModel& evaluated, const std::filesystem::path& folder);

}  // namespace dptrain::evaluation
