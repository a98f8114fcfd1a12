#pragma once

// Report: a run's folder read back, and one or several of them as a page to look at. RunRecord is what the files of a
// run say (docs/files.md), as plain data: what a file would say that is not there is empty. A value; any thread.

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

/// One of eval.json's `worst`.
struct WorstRecord {
  std::string sample, label, answer;
  std::optional<double> probability{};  ///< of the answer
  std::optional<double> loss{}, error{};
  std::optional<std::int64_t> wrong{}, positions{};
  std::vector<std::string> holds{};   ///< columns of a table, a text
  std::vector<std::string> images{};  ///< data: addresses, of a clip several; from worst.svg
};

struct OutputRecord {
  std::string name;                       ///< "" where the model has one
  std::vector<plot::ClassBar> classes{};  ///< empty: its answers are not classes
  plot::ClassBar macro{};
  std::vector<std::int64_t> counts{};  ///< confusion.csv, labels by predictions; empty: none that fits
  std::vector<WorstRecord> worst{};
  std::vector<plot::ValuePairs> values{};  ///< of predicted.csv; empty: not a regression, or more than eight values
};

/// eval.json, eval-train.json, ...
struct EvaluationRecord {
  std::string file, checkpoint, on;
  std::int64_t samples = 0;
  bool old = false;  ///< the checkpoint has been written again since
  std::vector<std::pair<std::string, double>> values{};
  std::vector<OutputRecord> outputs{};
};

/// Where the time went, in seconds.
struct TimeRecord {
  double computing = 0, data = 0, others = 0;  ///< of training: waiting for data, for other replicas
  double features = 0;                         ///< of a frozen prefix
  double rest = 0;                             ///< validation and the ends of epochs
  double saving = 0;                           ///< waiting for checkpoints to be written
  std::int64_t steps = 0;                      ///< that the table covers

  double all() const { return computing + data + others + features + rest + saving; }
};

struct RunRecord {
  std::string folder, name;
  std::optional<ResultRecord> result{};      ///< none: the run has not ended
  std::optional<train::RunCurves> curves{};  ///< none: there is no epoch
  std::vector<EvaluationRecord> evaluations{};
  std::optional<TimeRecord> time{};
  std::vector<graph::SummaryRow> layers{};
  std::int64_t parameters = 0, trainable = 0;
  std::string model_problem{};  ///< why there are no layers
  bool has_validation = false;  ///< the config has data to validate on
  std::string config{}, resolved{}, command{};
  Fields settings{};                    ///< of config.resolved.yaml, every key: "train.optimizer.Adam.learning_rate"
  Fields changed{};                     ///< those that flags changed
  Fields environment{};                 ///< of env.json: "machine.cpu"
  std::string date{};                   ///< when it was started or last resumed
  std::vector<std::string> warnings{};  ///< lines of train.log
  std::vector<std::vector<std::string>> bad_samples{};  ///< rows of data-errors.csv, without the header
  std::string fault{};                                  ///< what fault/fault.json describes
};

/// Throws Error{kData} for a folder that is no run's: one without config.resolved.yaml.
RunRecord read_record(const std::string& folder, const std::string& name);

/// Every scalar, and every list of scalars, of a config by its place: parts of a list by their name or type, where they
/// have one.
Fields settings_of(const std::string& yaml);

/// A setting that two configs have otherwise; "": one of them lacks it.
struct Change {
  std::string name, was, now;
};
/// In the order of `now`, then those that it lacks.
std::vector<Change> changes(const experiment::Experiment& before, const experiment::Experiment& now);
std::vector<Change> changes(const Fields& before, const Fields& now);

/// The value of a name, or "".
const std::string& value_of(const Fields& fields, const std::string& name);

/// Evaluations in a folder, the usual one first. A file that cannot be read is left out, with a warning.
std::vector<EvaluationRecord> read_evaluations(const std::string& folder);

}  // namespace dptrain::report
