// dptrain summary: the network as a table, the plan, the graph as a picture, the learning rate as a curve.

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/device_flags.h"
#include "cli/model_source.h"
#include "cli/output.h"
#include "cli/svg_chart.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "session/conv_cache.h"
#include "session/dry_plan.h"
#include "session/session.h"
#include "session/slots.h"
#include "train/line_file.h"

namespace dptrain::cli {
namespace {

struct SummaryFlags {
  std::string source;
  std::optional<std::string> dot, lr;
  DeviceFlags devices;
  ConfigFlags overrides;
  bool plan = false;
};

/// Steps of the whole training and of an epoch. The data are only opened when the schedule or its end counts epochs.
std::pair<std::int64_t, std::int64_t> steps_of(const experiment::Experiment& experiment,
                                               const session::DeviceRequest& devices) {
  session::SessionOptions options;
  options.devices = devices;
  options.wants_validation = false;
  const session::Session session(experiment, options);
  const std::int64_t per_epoch = session.steps_per_epoch();
  return {experiment.config.train.steps.value_or(experiment.config.train.epochs.value_or(1) * per_epoch), per_epoch};
}

void draw_rate(const std::string& path, const experiment::Experiment& experiment,
               const session::DeviceRequest& devices) {
  constexpr std::int64_t kPoints = 800;  // about one per pixel
  const experiment::TrainSection& train = experiment.config.train;
  if (!train.loss) throw Error(ErrorKind::kUsage, fmt::format("{}: --lr needs a section 'train'", experiment.file));
  const auto [steps, per_epoch] = steps_of(experiment, devices);
  const std::int64_t batch = experiment::global_batch(train, devices.replicas);
  const optim::Rate rate = optim::make_rate(optim::common(train.optimizer).learning_rate, per_epoch, batch);
  const double factor = experiment::rate_factor(train, batch);
  Series series{"", {}, {}, 0, false};
  const std::int64_t points = std::min(kPoints, steps);
  for (std::int64_t i = 0; i < points; ++i) {
    const std::int64_t step = points == 1 ? 0 : i * (steps - 1) / (points - 1);
    series.x.push_back(static_cast<double>(step));
    series.y.push_back(rate(step) * factor);
  }
  const std::string title =
      fmt::format("learning rate, {} steps, {} per epoch", with_commas(steps), with_commas(per_epoch));
  train::write_text(path, svg_chart(experiment.config.name, {{title, "step", "", {std::move(series)}, true, true}}));
  log::info("wrote " + path);
}

int run(const SummaryFlags& flags) {
  if (flags.lr) require_svg(*flags.lr, "--lr");
  const SourceUse use{.with_config = "summary CONFIG", .own_model = true};
  const experiment::Experiment experiment =
      open_model_source(flags.source, std::nullopt, flags.overrides.overrides(), use).experiment;
  const session::DeviceRequest devices = session::place_slots(flags.devices.plan_request(), experiment.graph);
  print_text(graph::summary(graph::undrawn_model(experiment.graph, experiment.config.seed)));
  if (flags.plan) {
    session::DryPlan plan;
    const experiment::RuntimeSection& runtime = experiment.config.runtime;
    const auto choices = session::open_conv_choices(runtime, devices);
    session::make_dry_plan(experiment, devices, {.conv_choices = choices, .data = true}, plan);
    print_text(plan.device + "\n" + plan.text());
    if (const std::string line = choices ? session::conv_choices_line(*choices, runtime) : ""; !line.empty())
      print_text(line);
  }
  if (flags.dot) {
    train::write_text(*flags.dot, graph::to_dot(experiment.graph));
    log::info(fmt::format("wrote {}; draw it with: dot -Tsvg {} -o graph.svg", *flags.dot, *flags.dot));
  }
  if (flags.lr) draw_rate(*flags.lr, experiment, devices);
  return 0;
}

}  // namespace

void add_summary(App& app) {
  const auto flags = std::make_shared<SummaryFlags>();
  Command& command = app.command("summary", "layers, shapes, parameters; the plan; the graph as a picture");
  command.example("configs/fashion_mnist.yaml")
      .example("configs/resnet_small.yaml --plan --cpus 2")
      .example("configs/bench/resnet50.yaml --plan --gpus h200")
      .example("configs/cifar10_towers.yaml --lr lr.svg");
  command.positional("CONFIG|CKPT", flags->source, "a config or a checkpoint");
  command.section("Summary")
      .flag("--plan", flags->plan, "the steps of one replica, what runs them on this device, and the memory table")
      .option("--dot", "FILE", flags->dot, "the graph for Graphviz")
      .option("--lr", "FILE", flags->lr, "the learning rate over the training, as SVG");
  flags->devices.add(command);
  flags->overrides.add_batch(command);
  flags->overrides.add(command);
  command.run([flags](const Context&) { return run(*flags); });
}

}  // namespace dptrain::cli
