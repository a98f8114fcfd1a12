#pragma once

// The summary at the end of fit: the best epoch, time and speed, paths, and the next commands. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "train/reports.h"

namespace dptrain::cli {

struct RunSummary {
  std::string run;                 ///< the run's folder
  std::vector<std::string> files;  ///< names of files for users
  std::string resume_flags{};      ///< for `dptrain resume`, each after a space
  bool can_eval = false;           ///< the config has validation or test data
  std::uint64_t peak_bytes = 0;    ///< peak memory
};

std::vector<std::string> summary_lines(const train::EndReport& report, const RunSummary& summary);

/// For --quiet, as `name: value` lines: the last epoch's values, the best ones and their epochs, time, speed, the exit
/// word and the run's folder.
std::vector<std::string> summary_figures(const train::EndReport& report, const std::string& run);

/// Fields of the first line with --log json: result.json's keys of the same names, and the run's folder.
nlohmann::ordered_json summary_fields(const train::EndReport& report, const std::string& run);

}  // namespace dptrain::cli
