#pragma once

// The progress bar: on stderr, only on a terminal. Redraws in place at most ten times a second; lines of the log are
// printed above it. One thread for each Progress.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace dptrain::train {

enum class ProgressMode { kAuto, kOn, kOff };

struct BarState {
  enum class Unit { kNone, kSteps, kSamples };

  std::int64_t done = 0, total = 0;  ///< total 0: unknown
  double seconds = 0;                ///< of what is done
  std::optional<double> run_left{};  ///< seconds, if this is a part of something longer
  bool percent = false;              ///< "42 %" in place of "50/118"
  Unit unit = Unit::kNone;           ///< of the speed: "23ms/step", "5,120 samples/s"; kNone: not shown
  std::optional<double> learning_rate{};
  std::string values{};  ///< " - loss: 0.8123 - accuracy: 0.7011"
};

/// " 50/118 [=====>.....] 12s ETA 3s (run 4:05) 240ms/step lr 0.001 - loss: 0.8123 - accuracy: 0.7011" in at most so
/// many columns. Parts are added in this order while they fit: the first value, speed, learning rate, further values,
/// the time left of the run, the elapsed time. The bar fills the line. A line too short for " 50/118 [==>..] ETA 3s"
/// has no "ETA", then no bar. Without a total "12,345 3s - listing flowers".
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
