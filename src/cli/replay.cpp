// dptrain replay: the step at which a run met values that are not finite, once more.

#include <memory>

#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/device_flags.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "train/replay.h"

namespace dptrain::cli {
namespace {

struct ReplayFlags {
  std::string fault;
  std::optional<std::string> on;
  ConfigFlags overrides;
};

int run(const ReplayFlags& flags) {
  std::optional<train::DeviceRequest> devices;
  if (flags.on) devices = parse_device(*flags.on, "--on");
  const train::Replay replay = train::replay(flags.fault, devices, flags.overrides.overrides());
  log::print(fmt::format("run      {}\n         {}", replay.recorded.what, train::describe(replay.recorded)));
  if (replay.finite) {
    log::print(fmt::format("replay   finite on {}: the loss is {:.6g}", replay.devices, replay.again.loss));
    return 0;
  }
  log::print(fmt::format("replay   on {}: {}\n         {}", replay.devices,
                         replay.confirmed() ? "the same" : "not finite, but elsewhere", train::describe(replay.again)));
  log::print(fmt::format("loss     {}, {} bits", replay.again.loss, replay.same_bits ? "the same" : "other"));
  return static_cast<int>(ErrorKind::kDiverged);
}

}  // namespace

void add_replay(App& app) {
  const auto flags = std::make_shared<ReplayFlags>();
  Command& command = app.command("replay", "do the step again at which a run met values that are not finite");
  command.describe(
      "Reads the folder 'fault' of a run that ended with exit code 6: the state before that step and which samples it "
      "had. Does "
      "the step once more, says the first layer whose values are not finite, and ends with 6 again; with 0 where --on "
      "or --set "
      "have made it finite.");
  command.example("runs/net/001/fault")
      .example("runs/net/001/fault --on cpu")
      .example("runs/net/001/fault --set train.loss.mse={}");
  command.positional("FAULT", flags->fault, "the folder 'fault' of a run");
  command.option("--on", "DEVICE", flags->on, "another device than the run's: cpu, gpu:0, emu:0");
  flags->overrides.add(command);
  command.run([flags](const Context&) { return run(*flags); });
}

}  // namespace dptrain::cli
