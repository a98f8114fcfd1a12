#pragma once

#include <string>
#include <vector>

#include "report/record.h"

namespace dptrain::report {

/// One run, or several side by side, as a page that needs nothing besides itself: no network, no script. Well-formed
/// XML, whatever the names hold. Pure; any thread.
std::string page(const std::string& title, const std::vector<RunRecord>& runs);

/// Reads the runs and writes their page. Throws Error{kData} for what is no run, Error{kWrite}.
void write_page(const std::vector<std::string>& folders, const std::string& file);

}  // namespace dptrain::report
