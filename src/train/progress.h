#pragma once

// The progress bar on stderr, on terminals only. Redrawn at most ten times a second, below the log. One thread each.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace dptrain::train {

enum class ProgressMode { kAuto, kOn, kOff };

struct BarState {
  enum class Unit { kNone, kSteps, kSamples };

  std::int64_t done = 0, total = 0;  ///< total 0: unknown
  double seconds = 0;                ///< elapsed for `done`
  std::optional<double> run_left{};  ///< seconds, if this is part of a longer run
  bool percent = false;              ///< "42 %" instead of "50/118"
  Unit unit = Unit::kNone;           ///< of the speed: "23ms/step", "5,120 samples/s"; kNone: hidden
  std::optional<double> learning_rate{};
  std::string values{};  ///< " - loss: 0.8123 - accuracy: 0.7011"
};

/// Formats " 50/118 [=====>.....] 12s ETA 3s (run 4:05) 240ms/step lr 0.001 - loss: 0.8123 - accuracy: 0.7011". Parts
/// are added in this order while they fit into `columns`: first value, speed, learning rate, other values, remaining
/// time of the run, elapsed time. The bar fills the line. A line too short for " 50/118 [==>..] ETA 3s" omits "ETA",
/// then the bar. Without a total: "12,345 3s - listing flowers".
std::string bar_line(const BarState& state, std::size_t columns);

class Progress {
 public:
  /// `yields`: draws only while no other bar is shown.
  explicit Progress(ProgressMode mode, bool yields = false);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void draw(const BarState& state);
  void clear();
  bool visible() const { return visible_; }

 private:
  bool visible_, yields_;
  double last_draw_ = 0;
  std::int64_t last_done_ = -1;
};

}  // namespace dptrain::train
