#pragma once

#include <string>
#include <vector>

#include "report/record.h"

namespace dptrain::report {

// Parts of a page that compares several runs. Pure functions; any thread.

/// A setting or an entry of the environment that differs between runs.
struct Difference {
  std::string name;                 ///< "train.optimizer.Adam.learning_rate", "devices"
  std::vector<std::string> values;  ///< one for each run; "" if it has none
};
/// Differences in the settings, then in the environment's version, devices, machine and data.
std::vector<Difference> differences(const std::vector<RunRecord>& runs);

/// A row for each run with its figures, the best ones marked, and its differences if they are few.
std::string runs_table(const std::vector<RunRecord>& runs);
std::string common_curves(const std::vector<RunRecord>& runs);
std::string differences_table(const std::vector<RunRecord>& runs);

/// A page about one run, or comparing several. It is self-contained, without network access or scripts, and well-formed
/// XML whatever the names contain. Pure; any thread.
std::string page(const std::string& title, const std::vector<RunRecord>& runs);

/// Reads the runs and writes their page. Throws Error{kData} for a folder that is not a run's, Error{kWrite}.
void write_page(const std::vector<std::string>& folders, const std::string& file);

}  // namespace dptrain::report
