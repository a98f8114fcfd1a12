// dptrain summary: prints the network and the plan, and draws the graph and the learning rate.

#include <memory>

#include "bench/gpu_launches.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/device_flags.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "plot/file.h"
#include "session/conv_cache.h"
#include "session/dry_plan.h"
#include "session/session.h"
#include "session/slots.h"
#include "train/line_file.h"
#include "train/model_source.h"
#include "train/rate_charts.h"

namespace dptrain::cli {
namespace {

struct SummaryFlags {
  std::string source;
  std::optional<std::string> dot, schedule;
  DeviceFlags devices;
  ConfigFlags overrides;
  bool plan = false;
};

/// Launches per step and memory per replica on a plan-only GPU.
std::string plan_only_text(const experiment::Experiment& experiment, int replicas, const session::DryPlan& plan) {
  const std::int64_t micro_batches =
      plan.plan.has_loss() ? session::slices_of_replica(experiment.config, replicas, plan.micro_batches) : 1;
  return bench::launches_text(bench::launch_items(plan.plan, plan.choices, micro_batches)) +
         fmt::format("memory of a replica: {} of {}\n", human_bytes(plan.all_bytes()), human_bytes(plan.device_bytes));
}

int run(const SummaryFlags& flags) {
  if (flags.schedule) plot::require_picture(*flags.schedule, "--plot-schedule");
  const train::SourceUse use{.with_config = "summary CONFIG", .own_model = true};
  const experiment::Experiment experiment =
      train::open_model_source(flags.source, std::nullopt, flags.overrides.overrides(), use).experiment;
  const session::DeviceRequest devices = session::place_slots(flags.devices.plan_request(), experiment.graph);
  print_fitted(graph::summary(graph::undrawn_model(experiment.graph, experiment.config.seed)));
  if (flags.plan) {
    session::DryPlan plan;
    const experiment::RuntimeSection& runtime = experiment.config.runtime;
    const auto choices = session::open_conv_choices(runtime, devices);
    session::make_dry_plan(experiment, devices, {.conv_choices = choices, .data = true}, plan);
    print_fitted(plan.device + "\n" + plan.text());
    if (const std::string line = choices ? session::conv_choices_line(*choices, runtime) : ""; !line.empty())
      print_fitted(line);
    if (!devices.plan_only_gpu.empty()) print_fitted(plan_only_text(experiment, devices.replicas, plan));
  }
  if (flags.dot) {
    train::write_text(*flags.dot, graph::to_dot(graph::undrawn_model(experiment.graph, experiment.config.seed)));
    log::info(fmt::format("wrote {}; draw it with: dot -Tsvg {} -o graph.svg", *flags.dot, *flags.dot));
  }
  if (flags.schedule) {
    plot::write(*flags.schedule, plot::draw(train::rate_chart(experiment, devices)));
    log::info("wrote " + *flags.schedule);
  }
  return 0;
}

}  // namespace

void add_summary(App& app) {
  const auto flags = std::make_shared<SummaryFlags>();
  Command& command = app.command("summary", "layers, shapes, parameters; the plan; the graph as a picture");
  command.example("configs/fashion_mnist.yaml")
      .example("configs/resnet_small.yaml --plan --cpus 2")
      .example("configs/bench/resnet50.yaml --plan --gpus h200")
      .example("configs/cifar10_towers.yaml --plot-schedule schedule.svg");
  command.positional("CONFIG|CKPT", flags->source, "a config or a checkpoint");
  command.section("Summary")
      .flag("--plan", flags->plan,
            "the steps of one replica, their implementations on this device, and the memory table; with --gpus h100 or "
            "h200, which need no GPU, also the launches of a step")
      .option("--dot", "FILE", flags->dot, "the graph for Graphviz")
      .option("--plot-schedule", "FILE.svg", flags->schedule, "the learning rate over the training")
      .deprecated_name("--lr");
  flags->devices.add(command);
  flags->overrides.add_batch(command);
  flags->overrides.add(command);
  command.run([flags](const Context&) { return run(*flags); });
}

}  // namespace dptrain::cli
