#pragma once

// How the end of a run is said: what fit prints at its end, and what its report says. Pure functions; any thread.

#include <string>

namespace dptrain::train {

/// For result.json's `exit`: "stopped early: no further improvement".
std::string exit_text(const std::string& exit);

}  // namespace dptrain::train
