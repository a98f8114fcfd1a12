#pragma once

// The progress bar: on stderr, only on a terminal; nothing at all otherwise. Trainer's thread; redraws at most ten
// times a second.

#include <cstdint>
#include <string>

namespace dptrain::train {

enum class ProgressMode { kAuto, kOn, kOff };

class Progress {
 public:
  explicit Progress(ProgressMode mode);
  /// " 50/118 [=====>......] 12s ETA 3s - loss: 0.8123 - accuracy: 0.7011"
  void draw(std::int64_t done, std::int64_t total, double seconds, const std::string& values);
  void clear();  ///< before a line is printed
  bool visible() const { return visible_; }

 private:
  bool visible_;
  double last_draw_ = 0;
  bool on_screen_ = false;
};

}  // namespace dptrain::train
