#pragma once

// sweep.json: all of a sweep in one file, which is replaced as a whole whenever a trial begins or ends, so that a sweep
// goes on from it whatever has ended the process. One writer, who holds the folder's lock (train/run_directory.h).

#include <string>

#include "sweep/trials.h"

namespace dptrain::sweep {

inline constexpr const char* kSweepFile = "sweep.json";

/// The file's text.
std::string text_of(const Sweep& sweep);
/// Throws Error{kWrite}.
void write_sweep(const std::string& folder, const Sweep& sweep);
/// Throws Error{kUsage} where the folder has none, Error{kData} where it cannot be read.
Sweep read_sweep(const std::string& folder);
/// Whether the folder has one.
bool is_sweep(const std::string& folder);

/// Folders of runs for what a command line names: of a sweep's folder those of its trials that have run; files beside a
/// sweep.json, which `DIR/*` names too, are left out. All others stay. Throws
/// Error{kData} where that leaves none.
std::vector<std::string> runs_of(const std::vector<std::string>& named);

}  // namespace dptrain::sweep
