#pragma once

// sweep.json: the whole state of a sweep in one file, replaced atomically whenever a trial begins or ends, so that a
// sweep can resume after a crash. The only writer holds the folder's lock (train/run_directory.h).

#include <string>

#include "sweep/trials.h"

namespace dptrain::sweep {

inline constexpr const char* kSweepFile = "sweep.json";

std::string text_of(const Sweep& sweep);
/// Throws Error{kWrite}.
void write_sweep(const std::string& folder, const Sweep& sweep);
/// Throws Error{kUsage} if the folder has none, Error{kData} if it is invalid.
Sweep read_sweep(const std::string& folder);
bool is_sweep(const std::string& folder);

/// Run folders for names on a command line: a sweep's folder is replaced by its trials with a train.csv. Files next to
/// a sweep.json, as from `DIR/*`, are left out; other names are unchanged. Throws Error{kData} if none is left.
std::vector<std::string> runs_of(const std::vector<std::string>& named);

}  // namespace dptrain::sweep
