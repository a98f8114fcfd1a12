#include "train/end_text.h"

namespace dptrain::train {

std::string exit_text(const std::string& exit) {
  if (exit == "early_stopping") return "stopped early: nothing got better any more";
  if (exit == "max_time") return "stopped: the time is over";
  if (exit == "signal") return "stopped by a signal, and saved";
  if (exit == "diverged") return "training diverged";
  return exit.empty() ? "ended, and nobody wrote how" : exit;  // "completed", or what a later version calls it
}

}  // namespace dptrain::train
