#pragma once

// Several runs side by side. Pure functions; any thread.

#include <string>
#include <vector>

#include "report/record.h"

namespace dptrain::report {

/// One thing in which runs differ.
struct Difference {
  std::string name;                 ///< "train.optimizer.Adam.learning_rate", "devices"
  std::vector<std::string> values;  ///< one for each run; "" where it has none
};
/// Of the settings, and of the environment the version, the machine and the devices; in the order in which the runs
/// have them.
std::vector<Difference> differences(const std::vector<RunRecord>& runs);

/// A row for each run with its figures, the best marked, and in what it differs, where that is little.
std::string runs_table(const std::vector<RunRecord>& runs);
/// The curves of all runs in one picture.
std::string common_curves(const std::vector<RunRecord>& runs);
std::string differences_table(const std::vector<RunRecord>& runs);

}  // namespace dptrain::report
