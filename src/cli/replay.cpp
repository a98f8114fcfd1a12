// dptrain replay: repeats the step at which a run failed.

#include <cmath>
#include <memory>

#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/device_flags.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/format.h"
#include "train/fault.h"

namespace dptrain::cli {
namespace {

struct ReplayFlags {
  std::string fault;
  std::optional<std::string> on;
  ConfigFlags overrides;
};

int print_replayed_error(const train::Replay& replay) {
  if (!replay.again.error) {
    print_fitted(fmt::format("replay   on {}: no error up to step {}", replay.devices, replay.recorded.last_step));
    return 0;
  }
  print_fitted(fmt::format("replay   on {}: {}", replay.devices,
                           replay.confirmed() ? "the same" : "another error: " + replay.again.what));
  return static_cast<int>(*replay.again.error);
}

int run(const ReplayFlags& flags) {
  std::optional<session::DeviceRequest> devices;
  if (flags.on) devices = parse_device(*flags.on, "--on");
  const train::Replay replay = train::replay(flags.fault, devices, flags.overrides.overrides());
  print_fitted(fmt::format("run      {}\n         {}", replay.recorded.what, train::describe(replay.recorded)));
  if (replay.recorded.error) return print_replayed_error(replay);
  if (replay.finite) {
    print_fitted(fmt::format("replay   finite on {}: the loss is {:.6g}", replay.devices, replay.again.loss));
    return 0;
  }
  print_fitted(fmt::format("replay   on {}: {}\n         {}", replay.devices,
                           replay.confirmed() ? "the same" : "not finite, but elsewhere",
                           train::describe(replay.again)));
  const double loss = std::abs(replay.again.loss);  // the sign of a NaN has no meaning
  print_fitted(fmt::format("loss     {}, {} bits", std::isnan(loss) ? loss : replay.again.loss,
                           replay.same_bits ? "the same" : "other"));
  return static_cast<int>(ErrorKind::kDiverged);
}

}  // namespace

void add_replay(App& app) {
  const auto flags = std::make_shared<ReplayFlags>();
  Command& command = app.command("replay", "repeat the step at which a run failed");
  command.describe(
      "Reads the folder 'fault' of a run. Where values were not finite (exit code 6) it contains the state before that "
      "step and the samples of the step: replay repeats the step, names the first layer whose values are not finite, "
      "and ends with 6 again, or with 0 if --on or --set made it finite. Where an error of the data, a device or "
      "dptrain ended the run, replay continues from the last checkpoint until the error occurs again, and reports if "
      "it does not.");
  command.example("runs/net/001/fault")
      .example("runs/net/001/fault --on cpu")
      .example("runs/net/001/fault --set train.loss.mse={}");
  command.positional("FAULT", flags->fault, "the folder 'fault' of a run");
  command.option("--on", "DEVICE", flags->on, "another device than the run's: cpu, gpu:0, emu:0");
  flags->overrides.add(command);
  command.run([flags](const Context&) { return run(*flags); });
}

}  // namespace dptrain::cli
