#pragma once

// A judgement as files in a folder: eval.json, confusion.csv, answers.csv, predicted.csv, and the pictures
// confusion.svg, scores.svg, predicted.svg, residuals.svg and worst.svg (docs/files.md). Main thread of the process
// that writes.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/source.h"
#include "evaluation/judgement.h"
#include "experiment/experiment.h"

namespace dptrain::evaluation {

/// What has been judged.
struct Judged {
  const experiment::Experiment& experiment;
  const std::string& checkpoint;  ///< as eval.json names it
  const Judgement& judgement;
  std::shared_ptr<const data::Source> samples;  ///< of the data set, for what the worst ones are
};

/// The data set that is judged when nobody asks for one: test, else validation; "" where there is neither.
std::string usual_set(const experiment::Experiment& experiment);

/// Of several outputs a score of one: "kind_f1", else "f1".
std::string score_name(const std::string& output, const std::string& score);
/// "precision", "recall", "f1": the averages over the classes, in the order of ClassScore.
const std::vector<std::string>& score_names();

/// What eval.json holds.
std::string judgement_json(const Judged& judged);
/// Writes eval.json and the tables, with paths as they were written. Throws Error{kWrite}.
std::vector<std::string> write_numbers(const Judged& judged, const std::filesystem::path& folder);
/// Draws the pictures, likewise.
std::vector<std::string> write_pictures(const Judged& judged, const std::filesystem::path& folder);

}  // namespace dptrain::evaluation
