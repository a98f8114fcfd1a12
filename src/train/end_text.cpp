#include "train/end_text.h"

#include <cmath>
#include <cstdint>

#include "core/format.h"

namespace dptrain::train {

std::string exit_text(const std::string& exit) {
  if (exit == "early_stopping") return "stopped early: nothing got better any more";
  if (exit == "max_time") return "stopped: the time is over";
  if (exit == "signal") return "stopped by a signal, and saved";
  if (exit == "diverged") return "training diverged";
  return exit.empty() ? "ended, and nobody wrote how" : exit;  // "completed", or what a later version calls it
}

std::string duration_text(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.2g} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace dptrain::train
