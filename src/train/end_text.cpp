#include "train/end_text.h"

namespace dptrain::train {

std::string exit_text(const std::string& exit) {
  if (exit == "early_stopping") return "stopped early: no further improvement";
  if (exit == "max_time") return "stopped: time limit reached";
  if (exit == "signal") return "stopped by a signal, state saved";
  if (exit == "diverged") return "training diverged";
  return exit.empty() ? "ended (no exit status recorded)" : exit;  // "completed", or what a later version calls it
}

}  // namespace dptrain::train
