#include "cli/rate_chart.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "nn/optimizer.h"
#include "session/session.h"

namespace dptrain::cli {
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

}  // namespace dptrain::cli
