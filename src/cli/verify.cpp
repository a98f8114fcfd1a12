// dptrain verify: compares N replicas with one replica on the same batches, per layer.

#include <algorithm>
#include <memory>

#include "bench/verify.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/device_flags.h"
#include "cli/output.h"
#include "cli/processes.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "session/slots.h"

namespace dptrain::cli {
namespace {

constexpr std::size_t kWorstRows = 12;

struct VerifyFlags {
  std::string config;
  ConfigFlags overrides;
  DeviceFlags devices;
  std::optional<std::int64_t> steps;
  std::optional<double> tolerance;
  std::optional<std::string> against;
  std::string data = "real";
  bool all = false;
};

std::string table(const bench::VerifyResult& result, bool all) {
  std::size_t width = 6;
  for (const bench::VerifyRow& row : result.rows) width = std::max(width, row.layer.size());
  std::string text = fmt::format("{:<{}}  {:>12}  {:>12}  {:>12}\n", "layer", width, "gradient", "parameter", "drift");
  const std::size_t shown = all ? result.rows.size() : std::min(kWorstRows, result.rows.size());
  for (std::size_t i = 0; i < shown; ++i)
    text += fmt::format("{:<{}}  {:>12.2e}  {:>12.2e}  {:>12.2e}\n", result.rows[i].layer, width,
                        result.rows[i].gradient, result.rows[i].parameter, result.rows[i].drift);
  if (shown < result.rows.size())
    text += fmt::format("... and {} with smaller differences (--all shows them)\n", result.rows.size() - shown);
  return text;
}

/// Default: two replicas, on the GPU or the CPU; with several processes, one each.
session::DeviceRequest devices(const VerifyFlags& flags, const distributed::Processes* processes) {
  session::DeviceRequest request = flags.devices.request();
  const bool named =
      flags.devices.cpus || flags.devices.num_gpus || (flags.devices.gpus && *flags.devices.gpus != "none");
  if (named || processes != nullptr) return request;
  if (request.on_gpus()) {
    request = session::request_of({request.gpus.front(), request.gpus.front()});
    request.grouped = true;
    return request;
  }
  request.replicas = 2;
  return request;
}

int run(const VerifyFlags& flags, distributed::Processes* processes) {
  const experiment::Experiment experiment = experiment::load_with_warnings(flags.config, flags.overrides.overrides());
  bench::VerifyOptions options;
  options.devices = session::place_slots(devices(flags, processes), experiment.graph);
  options.processes = processes;
  if (flags.against) options.against = parse_device(*flags.against, "--against");
  options.data = flags.data == "synthetic" ? session::DataMode::kSynthetic : session::DataMode::kReal;
  options.steps = flags.steps.value_or(options.steps);
  options.accumulate = experiment.config.train.accumulate_steps;
  options.tolerance = flags.tolerance;

  const bench::VerifyResult result = bench::verify(experiment, options);
  const int replicas = result.replicas;
  print_fitted(fmt::format("{}{} against one, {} steps of plain SGD, global batch {}; differences are |a-b| / |b|",
                           counted(replicas, "replica"),
                           result.micro_batches > 1 ? fmt::format(" x {} micro-batches", result.micro_batches) : "",
                           options.steps, experiment::global_batch(experiment.config.train, replicas)));
  if (result.tested_device != result.reference_device)
    print_fitted(fmt::format("{} against {}", result.tested_device, result.reference_device));
  if (result.full_float32)
    print_fitted("products are full float32 on both sides for this comparison (runtime.tf32: false)");
  if (options.against && !options.against->on_gpus() && options.devices.on_gpus() &&
      experiment.config.train.dtype_policy != experiment::DtypePolicy::kFloat32)
    print_fitted(fmt::format("{} against float32: differences are the rounding of 16-bit activations, too",
                             experiment::name_of(experiment.config.train.dtype_policy)));
  if (result.normalisation_synchronised && result.micro_batches > 1)
    print_fitted(
        "note: batch normalisation computes its moments per micro-batch; with accumulation its results differ from "
        "those of one big batch");
  if (result.normalisation_synchronised && !experiment.config.parallel.sync_batchnorm)
    print_fitted("batch normalisation is synchronised for this comparison (parallel.sync_batchnorm)");
  log::print(terminal::fitted(STDOUT_FILENO, table(result, flags.all)));
  std::string losses;
  for (const double loss : result.losses) losses += fmt::format(" {:.6g}", loss);
  print_fitted(fmt::format("loss{}; largest difference {:.2e}, drift {:.2e}", losses, result.loss, result.loss_drift));
  print_fitted(
      "drift is the difference after both sides trained on their own: rounding, amplified where a ReLU switches; it "
      "does not decide the verdict");
  const bench::Tolerance& tolerance = result.tolerance;
  const std::string of_loss =
      tolerance.loss == tolerance.layers ? "" : fmt::format(" (of the loss {:.1e})", tolerance.loss);
  if (!result.not_finite.empty())
    print_fitted(fmt::format("FAILED: {}; only finite losses can be compared", result.not_finite));
  else
    print_fitted(fmt::format("{} {:.1e}{}",
                             result.passed ? "verified: every difference is within" : "FAILED: a difference is above",
                             tolerance.layers, of_loss));
  return result.passed ? 0 : static_cast<int>(ErrorKind::kCheck);
}

}  // namespace

void add_verify(App& app) {
  const auto flags = std::make_shared<VerifyFlags>();
  Command& command = app.command("verify", "show that N replicas compute what one computes on the whole batch");
  command.describe(
      "Runs N replicas and one replica on the same batches, each step from equal weights, and compares per layer the "
      "gradients and the "
      "weights after the step, and the loss; the largest differences over the steps decide. Both sides use plain SGD, "
      "because adaptive "
      "optimizers amplify rounding where gradients vanish.");
  command.example("configs/fashion_mnist.yaml --cpus 3")
      .example("configs/resnet_small.yaml --cpus 2 --accumulate 4 --data synthetic")
      .example("configs/fashion_mnist.yaml --gpus 0 --against cpu");
  command.positional("CONFIG", flags->config, "config file");
  flags->devices.add(command);
  command.option("--against", "DEVICE", flags->against,
                 "where the one replica runs: cpu, gpu:0 (default: the first device of the N)");
  command.integer("--steps", "N", flags->steps, "steps to compare (5)");
  command.option("--tol", "X", flags->tolerance,
                 "largest relative difference that passes (1e-5 in float32 on the CPU; docs/reference/command-line.md "
                 "has the others)");
  command.choice("--data", {"real", "synthetic"}, flags->data, "synthetic: generated data in place of every data set");
  command.flag("--all", flags->all, "show every layer, not the worst alone");
  flags->overrides.add_batch(command);
  flags->overrides.add(command);
  command.run([flags](const Context&) {
    return run_processes([&](distributed::Processes* processes) { return run(*flags, processes); });
  });
}

}  // namespace dptrain::cli
