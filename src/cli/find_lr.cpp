#include "cli/find_lr.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/text.h"
#include "nn/optimizer.h"
#include "nn/schedules.h"
#include "plot/file.h"
#include "session/session.h"
#include "train/line_file.h"
#include "train/run_directory.h"
#include "train/signals.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

std::optional<double> positive_number(const std::string& text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && rest == text.data() + text.size() && std::isfinite(value) && value > 0;
  return good ? std::optional(value) : std::nullopt;
}

std::string short_rate(double rate) { return shortest(*positive_number(fmt::format("{:.2g}", rate))); }

std::string rate_table(const train::RateCurve& curve) {
  std::string text = "step,learning_rate,loss,smoothed_loss\n";
  std::size_t step = 0;
  for (const train::RatePoint& point : curve.points())
    text += fmt::format("{},{:.9g},{:.9g},{:.9g}\n", ++step, point.rate, point.loss, point.smoothed);
  return text;
}

/// Whether the schedule has a separate value for each interval, also after a warm-up.
bool has_several_rates(const nn::LearningRate& rate) {
  if (const auto* warmup = rate.schedule.get_if<nn::WarmupSpec>()) return has_several_rates(warmup->then);
  return rate.is_schedule() && rate.schedule.get_if<nn::PiecewiseConstantDecaySpec>() != nullptr;
}

void say(const train::RateCurve& curve, const experiment::Experiment& experiment) {
  const std::optional<train::RateAdvice> advice = curve.advice();
  if (!advice) {
    log::print(
        "no suggestion: the loss does not fall at any of these rates; find-lr.svg shows it; try a wider range or more "
        "--steps");
    return;
  }
  const auto& rate = nn::common(experiment.config.train.optimizer).learning_rate;
  const bool has_several = has_several_rates(rate);
  const std::string best = short_rate(advice->rate);
  log::print("suggestion: " +
             (has_several ? best + " for the largest of the schedule's values" : "--learning-rate " + best));
  log::info(
      fmt::format("  the smaller of {} (where the loss falls fastest) and {} (a tenth of the rate with the lowest "
                  "loss)",
                  short_rate(advice->steepest), short_rate(advice->below_lowest)));
  if (rate.is_schedule() && !has_several)
    log::info(fmt::format("  the config has a schedule, {}: --learning-rate keeps it and sets its highest rate",
                          rate.schedule.name()));
}

}  // namespace

train::RateRange parse_rate_range(const std::string& text, const std::optional<std::int64_t>& steps) {
  const std::size_t dots = text.find("..");
  const double low = positive_number(text.substr(0, dots)).value_or(0);
  const double high = dots == std::string::npos ? 0 : positive_number(text.substr(dots + 2)).value_or(0);
  if (low <= 0 || low >= high)
    throw Error(ErrorKind::kUsage,
                fmt::format("--find-lr must be two learning rates, the smaller first, as in --find-lr=1e-7..10; found "
                            "'{}'",
                            text));
  constexpr std::int64_t kFewest = 20;
  if (steps && *steps < kFewest)
    throw Error(ErrorKind::kUsage, fmt::format("--find-lr wants {} --steps or more, found {}", kFewest, *steps));
  train::RateRange range{.low = low, .high = high};
  if (steps) range.steps = *steps;
  return range;
}

plot::Chart rate_test_chart(const std::string& name, const train::RateCurve& curve) {
  plot::Line raw{.name = "loss of a step", .width = 1, .opacity = 0.45, .marks = false};
  plot::Line smooth{.name = "smoothed", .width = 2.4, .marks = false};
  double most = 0;
  for (const train::RatePoint& point : curve.points()) most = std::max(most, point.smoothed);
  for (const train::RatePoint& point : curve.points()) {
    if (point.loss <= 1.5 * most) raw.points.push_back({point.rate, point.loss});
    smooth.points.push_back({point.rate, point.smoothed});
  }
  if (const auto advice = curve.advice()) {
    const auto near = [&](const plot::Point& a, const plot::Point& b) {
      return std::abs(std::log(a.x / advice->rate)) < std::abs(std::log(b.x / advice->rate));
    };
    smooth.best = static_cast<std::size_t>(std::ranges::min_element(smooth.points, near) - smooth.points.begin());
    smooth.best_text = "suggestion " + short_rate(advice->rate);
  }
  plot::Panel panel{.title = "loss",
                    .note = std::string("thin: of each step") + (curve.diverged() ? "; until it diverged" : ""),
                    .x_label = "learning rate (log scale)",
                    .lines = {std::move(raw), std::move(smooth)},
                    .scale = plot::Scale::kAuto,
                    .log_x = true,
                    .height = 380};
  using Sample = plot::LegendEntry::Sample;
  return {.title = name + ": learning-rate range test",
          .keys = {{.name = "smoothed", .sample = Sample::kLine}, {.name = "suggestion", .sample = Sample::kRing}},
          .panels = {std::move(panel)}};
}

int find_lr(session::Session& session, const train::RateRange& range, const std::optional<std::string>& folder,
            train::ProgressMode mode) {
  const experiment::Experiment& experiment = session.experiment();
  const bool first = session.world().is_first();
  train::Progress progress(first ? mode : train::ProgressMode::kOff);
  log::info(fmt::format("learning rates from {} to {}, {} steps of {} samples", short_rate(range.low),
                        short_rate(range.high), range.steps, session.global_batch()));
  const Stopwatch watch;
  const train::RateCurve curve = train::test_rates(session, range, [&](std::int64_t done) {
    progress.draw({.done = done,
                   .total = range.steps,
                   .seconds = watch.seconds(),
                   .unit = train::BarState::Unit::kSteps,
                   .values = " - learning rates"});
    return true;
  });
  progress.clear();
  if (!first) return 0;
  log::info(fmt::format("{} in {}{}", counted(curve.points().size(), "step"), duration_text(watch.seconds()),
                        curve.diverged() ? fmt::format("; the loss diverged at {}",
                                                       short_rate(curve.rate(static_cast<std::int64_t>(
                                                           std::max<std::size_t>(1, curve.points().size()) - 1))))
                                         : ""));
  const std::string where = folder ? *folder : train::RunDirectory::experiment_folder(experiment);
  std::error_code error;
  fs::create_directories(where, error);
  const std::string table = (fs::path(where) / "find-lr.csv").string(),
                    drawn = (fs::path(where) / "find-lr.svg").string();
  train::write_text(table, rate_table(curve));
  plot::write(drawn, plot::draw(rate_test_chart(experiment.config.name, curve)));
  log::info(fmt::format("wrote {}, {}; weights and checkpoints are as they were", table, drawn));
  say(curve, experiment);
  return 0;
}

}  // namespace dptrain::cli
