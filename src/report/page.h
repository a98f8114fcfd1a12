#pragma once

#include <string>
#include <vector>

#include "report/record.h"

namespace dptrain::report {

// Parts of the page about several runs side by side. Pure functions; any thread.

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

/// One run, or several side by side, as a page that needs nothing besides itself: no network, no script. Well-formed
/// XML, whatever the names hold. Pure; any thread.
std::string page(const std::string& title, const std::vector<RunRecord>& runs);

/// Reads the runs and writes their page. Throws Error{kData} for what is no run, Error{kWrite}.
void write_page(const std::vector<std::string>& folders, const std::string& file);

}  // namespace dptrain::report
