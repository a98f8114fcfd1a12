#pragma once

// Report: reads the folder of a run, and writes one or several runs as an HTML page. RunRecord contains the files of a
// run (docs/reference/run-directory.md) as plain data; values from missing files are empty. A value; any thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiment/experiment.h"
#include "graph/model.h"
#include "plot/class_results.h"
#include "plot/regression.h"
#include "train/curves.h"

namespace dptrain::report {

using Fields = std::vector<std::pair<std::string, std::string>>;  ///< names and values, in order

/// result.json.
struct ResultRecord {
  std::string exit, reason;
  std::int64_t epochs = 0, steps = 0, skipped_steps = 0, rollbacks = 0;
  double seconds = 0, examples_per_second = 0;
  std::map<std::string, double> final{}, best{};  ///< best: without "epoch"
  std::optional<std::int64_t> best_epoch{};
};

/// One entry of `worst` in eval.json.
struct WorstRecord {
  std::string sample, label, answer;
  std::optional<double> probability{};  ///< probability of the answer
  std::optional<double> loss{}, error{};
  std::optional<std::int64_t> wrong{}, positions{};
  std::vector<std::string> contents{};  ///< cells of a table row, or lines of a text
  std::vector<std::string> images{};    ///< data: URLs from worst.svg, several for a clip
};

struct OutputRecord {
  std::string name;                       ///< "" if the model has one output
  std::vector<plot::ClassBar> classes{};  ///< empty: the answers are not classes
  plot::ClassBar macro{};
  std::vector<std::int64_t> counts{};  ///< confusion.csv, labels by predictions; empty: missing or of another size
  std::vector<WorstRecord> worst{};
  std::int64_t map_pixels = 0;             ///< of label maps: images are the picture, label and answer; 0: no maps
  std::vector<plot::ValuePairs> values{};  ///< predicted.csv; empty: not a regression, or more than eight values
};

/// eval.json, eval-train.json, ...
struct EvaluationRecord {
  std::string file, checkpoint, on;
  std::int64_t samples = 0;
  bool old = false;  ///< the checkpoint is newer than the evaluation
  std::vector<std::pair<std::string, double>> values{};
  std::vector<OutputRecord> outputs{};
};

/// How the time was spent, in seconds.
struct TimeRecord {
  double computing = 0, data = 0, others = 0;  ///< training: computing, waiting for data, waiting for other replicas
  double features = 0;                         ///< features of frozen layers
  double rest = 0;                             ///< validation and the ends of epochs
  double saving = 0;                           ///< waiting for checkpoints to be written
  std::int64_t steps = 0;                      ///< steps covered by steps.csv

  double all() const { return computing + data + others + features + rest + saving; }
};

struct RunRecord {
  std::string folder, name;
  std::optional<ResultRecord> result{};      ///< none: the run has not ended
  std::optional<train::RunCurves> curves{};  ///< none: no epoch has completed
  std::vector<EvaluationRecord> evaluations{};
  std::optional<TimeRecord> time{};
  std::vector<graph::SummaryRow> layers{};
  std::int64_t parameters = 0, trainable = 0;
  std::string model_problem{};  ///< why there are no layers
  bool has_validation = false;  ///< the config has validation or test data
  std::string config{}, resolved{}, command{};
  Fields settings{};                                    ///< config.resolved.yaml: "train.optimizer.Adam.learning_rate"
  Fields changed{};                                     ///< keys changed by flags
  Fields environment{};                                 ///< env.json: "machine.cpu"
  std::string date{};                                   ///< time of the start or of the last resume
  std::vector<std::string> warnings{};                  ///< lines of train.log
  std::vector<std::vector<std::string>> bad_samples{};  ///< rows of data-errors.csv, without the header
  std::string fault{};                                  ///< description of fault/fault.json
};

/// Throws Error{kData} for a folder without config.resolved.yaml.
RunRecord read_record(const std::string& folder, const std::string& name);

/// All scalars and lists of scalars in a config, by path. Items of a list have their name or type if there is one.
Fields settings_of(const std::string& yaml);

/// A setting that differs between two configs; "": it is missing in that config.
struct Change {
  std::string name, was, now;
};
/// In the order of `now`, then those that are missing there.
std::vector<Change> changes(const experiment::Experiment& before, const experiment::Experiment& now);
std::vector<Change> changes(const Fields& before, const Fields& now);

/// The value of a field, or "".
const std::string& value_of(const Fields& fields, const std::string& name);

/// The evaluations in a folder, that of the default data set first. Skips unreadable files with a warning.
std::vector<EvaluationRecord> read_evaluations(const std::string& folder);

}  // namespace dptrain::report
