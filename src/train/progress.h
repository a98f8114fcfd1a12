#pragma once

// The progress bar: on stderr, only on a terminal; nothing at all otherwise. One thread; redraws at most ten times a
// second.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace dptrain::train {

enum class ProgressMode { kAuto, kOn, kOff };

struct BarState {
  std::int64_t done = 0, total = 0;  ///< 0: nobody knows
  double seconds = 0;                ///< that it took so far
  std::optional<double> run_left{};  ///< seconds, where it is a part of something longer
  bool percent = false;              ///< "42 %" in place of "50/118"
  std::string values{};              ///< " - loss: 0.8123 - accuracy: 0.7011"
};

/// "50/118 [=====>......] 12s ETA 3s (run 4:05) - loss: 0.8123 - accuracy: 0.7011" in at most so many columns: the bar
/// gets shorter, then goes; then the time left of the run, and values from the last on. In fewer than 32 columns
/// "50/118 [==>...] 3s", with the time left. Without a total "12,345 3s - listing flowers".
std::string bar_line(const BarState& state, std::size_t columns);

class Progress {
 public:
  explicit Progress(ProgressMode mode);
  void draw(const BarState& state);
  void clear();  ///< before a line is printed
  bool visible() const { return visible_; }

 private:
  bool visible_;
  double last_draw_ = 0;
};

}  // namespace dptrain::train
