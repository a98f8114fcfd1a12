#pragma once

// How the end of a run is said: what fit prints at its end, and what its report says. Pure functions; any thread.

#include <string>

namespace dptrain::train {

/// Of result.json's `exit`: "stopped early: nothing got better any more".
std::string exit_text(const std::string& exit);

/// "0.84 s", "12 s", "3 min 20 s", "1 h 02 min"
std::string duration_text(double seconds);

}  // namespace dptrain::train
