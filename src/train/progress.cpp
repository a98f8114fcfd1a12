#include "train/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/clock.h"
#include "core/format.h"

namespace dptrain::train {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr std::size_t kBarWidth = 24, kUsualColumns = 80;

bool on_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

std::size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

std::string bar(double share) {
  const auto filled = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(kBarWidth));
  std::string text(kBarWidth, '.');
  std::fill_n(text.begin(), filled, '=');
  if (filled < kBarWidth) text[filled] = '>';
  return text;
}

/// A terminal that is gone takes the bar with it, not the run.
void put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

/// "12s", "3:05", "1:02:03"
std::string clock_text(double seconds) {
  const auto s = static_cast<std::int64_t>(seconds + 0.5);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace

Progress::Progress(ProgressMode mode)
    : visible_(mode == ProgressMode::kOn || (mode == ProgressMode::kAuto && on_terminal())) {}

void Progress::draw(std::int64_t done, std::int64_t total, double seconds, const std::string& values) {
  if (!visible_) return;
  const double now = now_seconds();
  if (now - last_draw_ < kRedrawSeconds && done != total) return;
  last_draw_ = now;
  const double left = done > 0 ? seconds / static_cast<double>(done) * static_cast<double>(total - done) : 0;
  std::string line = fmt::format("{}/{} [{}] {} ETA {}{}", done, total,
                                 bar(static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(1, total))),
                                 clock_text(seconds), clock_text(left), values);
  line.resize(std::min(line.size(), columns() - 1));  // a line that wraps could not be drawn over
  put(fmt::format("\r{}\033[K", line));
  on_screen_ = true;
}

void Progress::clear() {
  if (!on_screen_) return;
  put("\r\033[K");
  on_screen_ = false;
}

}  // namespace dptrain::train
