#include "train/rate_charts.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "nn/optimizer.h"
#include "session/session.h"

namespace dptrain::train {
namespace {

/// Steps of the whole training and of one epoch; opens the data to count them.
std::pair<std::int64_t, std::int64_t> steps_of(const experiment::Experiment& experiment,
                                               const session::DeviceRequest& devices) {
  session::SessionOptions options;
  options.devices = devices;
  options.wants_validation = false;
  const session::Session session(experiment, options);
  const std::int64_t per_epoch = session.steps_per_epoch();
  return {experiment.config.train.steps.value_or(experiment.config.train.epochs.value_or(1) * per_epoch), per_epoch};
}

}  // namespace

plot::Chart rate_chart(const experiment::Experiment& experiment, const session::DeviceRequest& devices) {
  constexpr std::int64_t kPoints = 800;  // about one per pixel
  const experiment::TrainSection& train = experiment.config.train;
  if (!train.loss)
    throw Error(ErrorKind::kUsage, fmt::format("{}: --plot-schedule needs a section 'train'", experiment.file));
  const auto [steps, per_epoch] = steps_of(experiment, devices);
  const std::int64_t batch = experiment::global_batch(train, devices.replicas);
  const nn::Rate rate = nn::make_rate(nn::common(train.optimizer).learning_rate, per_epoch, batch);
  const double factor = experiment::rate_factor(train, batch);
  std::vector<plot::Point> rates;
  const std::int64_t points = std::min(kPoints, steps);
  for (std::int64_t i = 0; i < points; ++i) {
    const std::int64_t step = points == 1 ? 0 : i * (steps - 1) / (points - 1);
    rates.push_back({static_cast<double>(step), rate(nn::Progress::at_step(step)) * factor});
  }
  return rate_chart(experiment.config.name, rates, steps, per_epoch);
}

plot::Chart rate_chart(const std::string& name, const std::vector<plot::Point>& rates, std::int64_t steps,
                       std::int64_t steps_per_epoch) {
  plot::Panel panel{.title = "learning rate",
                    .note = fmt::format("{} steps, {} per epoch", with_commas(steps), with_commas(steps_per_epoch)),
                    .x_label = "step",
                    .lines = {{.name = "learning rate", .points = rates, .marks = false}},
                    .scale = plot::Scale::kAuto,
                    .from_zero = true,
                    .whole_x = true,
                    .top_unit = static_cast<double>(std::max<std::int64_t>(1, steps_per_epoch)),
                    .top_label = "epochs done",
                    .height = 360};
  return {.title = name, .panels = {std::move(panel)}};
}

plot::Chart rate_test_chart(const std::string& name, const RateCurve& curve) {
  plot::Line raw{.name = "loss of a step", .width = 1, .opacity = 0.45, .marks = false};
  plot::Line smooth{.name = "smoothed", .width = 2.4, .marks = false};
  double most = 0;
  for (const RatePoint& point : curve.points()) most = std::max(most, point.smoothed);
  for (const RatePoint& point : curve.points()) {
    if (point.loss <= 1.5 * most) raw.points.push_back({point.rate, point.loss});
    smooth.points.push_back({point.rate, point.smoothed});
  }
  if (const auto advice = curve.advice()) {
    const auto near = [&](const plot::Point& a, const plot::Point& b) {
      return std::abs(std::log(a.x / advice->rate)) < std::abs(std::log(b.x / advice->rate));
    };
    smooth.best = static_cast<std::size_t>(std::ranges::min_element(smooth.points, near) - smooth.points.begin());
    smooth.best_text = "suggestion " + shortest(advice->rate);
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

}  // namespace dptrain::train
