#include "train/find_lr.h"

#include <algorithm>
#include <charconv>
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
#include "train/rate_charts.h"
#include "train/run_directory.h"

namespace dptrain::train {
namespace fs = std::filesystem;
namespace {

/// Rounded to two digits.
std::string short_rate(double rate) {
  const std::string digits = fmt::format("{:.2g}", rate);
  double rounded = rate;
  std::from_chars(digits.data(), digits.data() + digits.size(), rounded);
  return shortest(rounded);
}

std::string rate_table(const RateCurve& curve) {
  std::string text = "step,learning_rate,loss,smoothed_loss\n";
  std::size_t step = 0;
  for (const RatePoint& point : curve.points())
    text += fmt::format("{},{:.9g},{:.9g},{:.9g}\n", ++step, point.rate, point.loss, point.smoothed);
  return text;
}

/// Whether the schedule has a separate value for each interval, also after a warm-up.
bool has_several_rates(const nn::LearningRate& rate) {
  if (const auto* warmup = rate.schedule.get_if<nn::WarmupSpec>()) return has_several_rates(warmup->then);
  return rate.is_schedule() && rate.schedule.get_if<nn::PiecewiseConstantDecaySpec>() != nullptr;
}

void print_suggestion(const RateCurve& curve, const experiment::Experiment& experiment) {
  const std::optional<RateAdvice> advice = curve.advice();
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

void find_lr(session::Session& session, const RateRange& range, const std::optional<std::string>& folder,
             ProgressMode mode) {
  const experiment::Experiment& experiment = session.experiment();
  const bool first = session.world().is_first();
  Progress progress(first ? mode : ProgressMode::kOff);
  log::info(fmt::format("learning rates from {} to {}, {} steps of {} samples", short_rate(range.low),
                        short_rate(range.high), range.steps, session.global_batch()));
  const Stopwatch watch;
  const RateCurve curve = test_rates(session, range, [&](std::int64_t done) {
    progress.draw({.done = done,
                   .total = range.steps,
                   .seconds = watch.seconds(),
                   .unit = BarState::Unit::kSteps,
                   .values = " - learning rates"});
    return true;
  });
  progress.clear();
  if (!first) return;
  log::info(fmt::format("{} in {}{}", counted(curve.points().size(), "step"), duration_text(watch.seconds()),
                        curve.diverged() ? fmt::format("; the loss diverged at {}",
                                                       short_rate(curve.rate(static_cast<std::int64_t>(
                                                           std::max<std::size_t>(1, curve.points().size()) - 1))))
                                         : ""));
  const std::string where = folder ? *folder : RunDirectory::experiment_folder(experiment);
  std::error_code error;
  fs::create_directories(where, error);
  const std::string table = (fs::path(where) / "find-lr.csv").string(),
                    drawn = (fs::path(where) / "find-lr.svg").string();
  write_text(table, rate_table(curve));
  plot::write(drawn, plot::draw(rate_test_chart(experiment.config.name, curve)));
  log::info(fmt::format("wrote {}, {}; weights and checkpoints are unchanged", table, drawn));
  print_suggestion(curve, experiment);
}

}  // namespace dptrain::train
