#include "train/progress.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "core/clock.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/terminal.h"
#include "core/text.h"

namespace dptrain::train {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr std::size_t kShortestBar = 4, kBrackets = 3;  // " [" and "]"
constexpr std::string_view kBetweenValues = " - ";

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

/// " 23ms/step", as in Keras, or " 5120 samples/s"; "" before the first step.
std::string step_speed(const BarState& state) {
  if (state.unit == BarState::Unit::kNone || state.done <= 0 || state.seconds <= 0) return "";
  const double each = state.seconds / static_cast<double>(state.done);
  if (state.unit == BarState::Unit::kSamples) return " " + speed_text(1 / each);
  return each < 9.9995 ? fmt::format(" {}ms/step", rate_text(each * 1e3)) : fmt::format(" {}s/step", rate_text(each));
}

/// " - loss: 0.8123", " - accuracy: 0.7011"
std::vector<std::string> values_of(const std::string& text) {
  std::vector<std::string> values;
  for (std::size_t begin = text.find(kBetweenValues); begin != std::string::npos;) {
    const std::size_t end = text.find(kBetweenValues, begin + 1);
    values.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
    begin = end;
  }
  return values;
}

/// Appends values while the line fits.
std::string fitting(std::string line, const std::string& values, std::size_t columns) {
  for (const std::string& value : values_of(values)) {
    if (terminal::width(line + value) > columns) break;
    line += value;
  }
  return terminal::cut(line, columns);
}

}  // namespace

std::string bar_line(const BarState& state, std::size_t columns) {
  if (state.total <= 0) {
    const std::string count = state.done > 0 ? with_commas(state.done) + " " : "";
    return fitting(count + clock_text(state.seconds), state.values, columns);
  }
  const double share = static_cast<double>(state.done) / static_cast<double>(state.total);
  const double left = state.seconds / static_cast<double>(std::max<std::int64_t>(1, state.done)) *
                      static_cast<double>(state.total - state.done);
  const std::string total = std::to_string(state.total);
  const std::string count =
      state.percent ? fmt::format("{:3.0f} %", 100 * share) : fmt::format("{:>{}}/{}", state.done, total.size(), total);
  const std::string time = state.done > 0 ? clock_text(left) : "?";
  std::size_t taken = count.size() + kBrackets + kShortestBar + std::string_view(" ETA ").size() + time.size();
  if (taken > columns) {
    const std::size_t bare = count.size() + 1 + time.size();
    if (bare > columns) return terminal::cut(count, columns);
    if (bare + kBrackets + 1 > columns) return fmt::format("{} {}", count, time);
    return fmt::format("{} [{}] {}", count, bar(share, columns - bare - kBrackets), time);
  }

  const auto fits = [&](const std::string& part) {
    if (taken + terminal::width(part) > columns) return false;
    taken += terminal::width(part);
    return true;
  };
  const std::vector<std::string> values = values_of(state.values);
  std::size_t shown = 0;
  if (!values.empty() && fits(values.front())) shown = 1;
  std::string speed = step_speed(state);
  if (!fits(speed)) speed.clear();
  std::string rate = state.learning_rate ? fmt::format(" lr {:.2g}", *state.learning_rate) : "";
  if (!fits(rate)) rate.clear();
  while (shown > 0 && shown < values.size() && fits(values[shown])) ++shown;
  const bool all = shown == values.size();
  std::string run = all && state.run_left ? fmt::format(" (run {})", clock_text(*state.run_left)) : "";
  if (!fits(run)) run.clear();
  std::string elapsed = all ? " " + clock_text(state.seconds) : "";
  if (!fits(elapsed)) elapsed.clear();

  std::string line = fmt::format("{} [{}]{} ETA {}{}{}{}", count, bar(share, kShortestBar + columns - taken), elapsed,
                                 time, run, speed, rate);
  for (std::size_t i = 0; i < shown; ++i) line += values[i];
  return line;
}

namespace {

/// The bar that the terminal shows. A yielding bar neither draws over nor clears another one.
struct Shown {
  std::mutex mutex;
  const Progress* bar = nullptr;
};
Shown& shown() {
  static Shown instance;
  return instance;
}

}  // namespace

Progress::Progress(ProgressMode mode, bool yields)
    : visible_(mode == ProgressMode::kOn || (mode == ProgressMode::kAuto && terminal::has_cursor(STDERR_FILENO))),
      yields_(yields) {}

void Progress::draw(const BarState& state) {
  if (!visible_) return;
  const double now = now_seconds();
  const bool is_end = state.total > 0 && state.done != last_done_ && (state.done == 0 || state.done == state.total);
  if (now - last_draw_ < kRedrawSeconds && !is_end) return;
  const std::lock_guard lock(shown().mutex);
  if (yields_ && shown().bar != nullptr && shown().bar != this) return;
  shown().bar = this;
  last_draw_ = now;
  last_done_ = state.done;
  // A line that wraps could not be redrawn in place.
  log::show_status(bar_line(state, terminal::columns(STDERR_FILENO).value_or(terminal::kUsualColumns) - 1));
}

void Progress::clear() {
  const std::lock_guard lock(shown().mutex);
  if (!visible_ || shown().bar != this) return;
  shown().bar = nullptr;
  last_draw_ = 0;
  log::show_status("");
}

}  // namespace dptrain::train
