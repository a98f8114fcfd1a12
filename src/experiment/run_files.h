#pragma once

// The names of the files of a run's folder (docs/files.md). Constants; any thread.

#include <array>
#include <string>

namespace dptrain::experiment {

inline constexpr const char* kDataErrors = "data-errors.csv";
inline constexpr const char* kRunLock = ".lock";  ///< whose holder writes the folder

/// What --overwrite may take away: the files of a run, and nothing that somebody else has put beside them.
inline constexpr std::array kRunFiles{"config.yaml",
                                      "config.resolved.yaml",
                                      "command.txt",
                                      "env.json",
                                      "train.log",
                                      "train.csv",
                                      "steps.csv",
                                      "events.jsonl",
                                      "result.json",
                                      "model.h5",
                                      "labels.txt",
                                      "log.csv",
                                      "curves.svg",
                                      "eval.json",
                                      "confusion.csv",
                                      "eval-train.json",
                                      "confusion-train.csv",
                                      "eval-validation.json",
                                      "confusion-validation.csv",
                                      "confusion.svg",
                                      "scores.svg",
                                      "confusion-train.svg",
                                      "scores-train.svg",
                                      "confusion-validation.svg",
                                      "scores-validation.svg",
                                      "fault/fault.json",
                                      "fault/state.h5",
                                      kDataErrors};

/// Whether it is one of these.
bool is_run_file(const std::string& name);

/// Whether a run has a file of this name, below its folder, for itself.
bool is_taken_by_run(const std::string& name);

}  // namespace dptrain::experiment
