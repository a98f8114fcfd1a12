#include "train/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "core/clock.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"

namespace dptrain::train {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr std::size_t kLongestBar = 24, kShortestBar = 6, kUsualColumns = 80;
constexpr std::size_t kBrackets = 3;        // " [" and "]"
constexpr std::size_t kNarrowColumns = 32;  // values have no room

bool on_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

std::size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

std::string bar(double share, std::size_t width) {
  const auto filled = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(width));
  std::string text(width, '.');
  std::fill_n(text.begin(), filled, '=');
  if (filled < width) text[filled] = '>';
  return text;
}

/// "12s", "3:05", "1:02:03"
std::string clock_text(double seconds) {
  const auto s = static_cast<std::int64_t>(seconds + 0.5);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

/// Without the last values where all have no room.
std::string fitting(std::string text, std::size_t columns) {
  for (std::size_t last; text.size() > columns && (last = text.rfind(" - ")) != std::string::npos;) text.resize(last);
  text.resize(std::min(text.size(), columns));
  return text;
}

}  // namespace

std::string bar_line(const BarState& state, std::size_t columns) {
  if (state.total <= 0) {
    const std::string count = state.done > 0 ? with_commas(state.done) + " " : "";
    return fitting(count + clock_text(state.seconds) + state.values, columns);
  }
  const double share = static_cast<double>(state.done) / static_cast<double>(state.total);
  const double left =
      state.done > 0 ? state.seconds / static_cast<double>(state.done) * static_cast<double>(state.total - state.done)
                     : 0;
  const std::string count =
      state.percent ? fmt::format("{:.0f} %", 100 * share) : fmt::format("{}/{}", state.done, state.total);
  if (columns < kNarrowColumns) {
    const std::string time = " " + clock_text(left);
    const std::size_t taken = count.size() + kBrackets + time.size();
    if (taken + 1 > columns) return fitting(count + time, columns);
    return fmt::format("{} [{}]{}", count, bar(share, columns - taken), time);
  }
  const std::string times = fmt::format(" {} ETA {}", clock_text(state.seconds), clock_text(left));
  const std::string run = state.run_left ? fmt::format(" (run {})", clock_text(*state.run_left)) : "";
  const auto bare = [&](const std::string& time) { return count.size() + time.size() + state.values.size(); };
  if (bare(times) > columns) return fitting(count + times + state.values, columns);
  if (bare(times + run) > columns) return count + times + state.values;
  const std::size_t taken = bare(times + run) + kBrackets;
  if (taken + kShortestBar > columns) return count + times + run + state.values;
  return fmt::format("{} [{}]{}{}{}", count, bar(share, std::min(kLongestBar, columns - taken)), times, run,
                     state.values);
}

Progress::Progress(ProgressMode mode)
    : visible_(mode == ProgressMode::kOn || (mode == ProgressMode::kAuto && on_terminal())) {}

void Progress::draw(const BarState& state) {
  if (!visible_) return;
  const double now = now_seconds();
  if (now - last_draw_ < kRedrawSeconds && state.done != state.total) return;
  last_draw_ = now;
  log::show_status(bar_line(state, columns() - 1));  // a line that wraps could not be drawn over
}

void Progress::clear() {
  if (visible_) log::show_status("");
}

}  // namespace dptrain::train
