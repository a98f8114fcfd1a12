// dptrain devices: what there is to train on.

#include <memory>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "core/format.h"
#include "core/log.h"
#include "device/device.h"
#include "train/build_info.h"

namespace dptrain::cli {
namespace {

int run(bool json) {
  const std::vector<device::DeviceInfo> devices = device::list_cpu();
  const std::string cuda = train::build_info().library("cuda");
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const device::DeviceInfo& info : devices)
      list.push_back({{"id", info.id},
                      {"name", info.name},
                      {"details", info.details},
                      {"cores", info.cores},
                      {"memory_bytes", info.memory_bytes},
                      {"peak_gflops_per_core", info.peak_gflops}});
    log::print(nlohmann::ordered_json{{"devices", list}, {"cuda", cuda}}.dump(2));
    return 0;
  }
  for (const device::DeviceInfo& info : devices)
    log::print(fmt::format("{:<6}{}; {}", info.id, info.name, info.details));
  if (cuda.starts_with("no")) log::print(fmt::format("{:<6}no GPU backend in this build: {}", "gpu", cuda));
  return 0;
}

}  // namespace

void add_devices(App& app) {
  const auto json = std::make_shared<bool>(false);
  Command& command = app.command("devices", "processors and GPUs that can train");
  command.section("Output").flag("--json", *json, "as JSON");
  command.run([json](const Context&) { return run(*json); });
}

}  // namespace dptrain::cli
