#pragma once

// The names of the files of a run's folder (docs/files.md). Constants and pure functions; any thread.

#include <string>
#include <vector>

namespace dptrain::experiment {

inline constexpr const char* kDataErrors = "data-errors.csv";
inline constexpr const char* kReport = "report.html";
inline constexpr const char* kRunLock = ".lock";  ///< whose holder writes the folder

/// "confusion.csv"; of one output among several "confusion-kind.csv"; of a data set `on` that is not the usual one
/// "confusion-train.csv", "confusion-kind-train.csv". "" stands for the only output and for the usual set.
std::string evaluation_file(const std::string& stem, const std::string& output, const std::string& on,
                            const std::string& suffix);

/// What --overwrite may take away: the files of a run, and nothing that somebody else has put beside them. `outputs`:
/// the names of a model that has several.
std::vector<std::string> run_files(const std::vector<std::string>& outputs = {});

/// Whether it is one of these.
bool is_run_file(const std::string& name, const std::vector<std::string>& outputs = {});

/// Whether a run has a file of this name, below its folder, for itself.
bool is_taken_by_run(const std::string& name);

}  // namespace dptrain::experiment
