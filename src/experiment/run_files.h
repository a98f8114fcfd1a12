#pragma once

// The names of the files of a run's folder (docs/reference/run-directory.md). Constants and pure functions; any thread.

#include <string>
#include <vector>

namespace dptrain::experiment {

inline constexpr const char* kDataErrors = "data-errors.csv";
inline constexpr const char* kReport = "report.html";
inline constexpr const char* kRunLock = ".lock";  ///< the process that holds it writes the folder

/// "confusion.csv"; "confusion-kind.csv" for one of several outputs; "confusion-train.csv" or
/// "confusion-kind-train.csv" for another data set `on`. "" is the only output, and the default data set.
std::string evaluation_file(const std::string& stem, const std::string& output, const std::string& on,
                            const std::string& suffix);

/// The files of a run, which --overwrite may remove. `outputs`: names of the outputs if there are several.
std::vector<std::string> run_files(const std::vector<std::string>& outputs = {});

/// Whether `name` is one of run_files().
bool is_run_file(const std::string& name, const std::vector<std::string>& outputs = {});

/// Whether a run reserves this name below its folder.
bool is_taken_by_run(const std::string& name);

}  // namespace dptrain::experiment
