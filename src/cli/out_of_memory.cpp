#include "cli/out_of_memory.h"

#include <algorithm>

#include "cli/dry_plan.h"
#include "core/format.h"
#include "core/text.h"
#include "device/device.h"

namespace dptrain::cli {
namespace {

/// Activations and scratch grow with the rows, parameters and their state do not.
std::string advice(const train::Experiment& experiment, const train::SessionOptions& options) {
  DryPlan dry;
  make_dry_plan(experiment, options.devices, dry);
  const std::uint64_t fixed = dry.replica_bytes - dry.memory.arena_bytes;
  const std::uint64_t share = device::cpu_memory_available() / static_cast<std::uint64_t>(options.devices.replicas);
  const std::uint64_t per_row = std::max<std::uint64_t>(1, dry.memory.arena_bytes / static_cast<std::uint64_t>(dry.memory.rows));
  std::string text = fmt::format("\n  a replica wants {} for weights, gradients and optimizer, and {} for activations and scratch of {} rows",
                                 human_bytes(fixed), human_bytes(dry.memory.arena_bytes), dry.memory.rows);
  if (share <= fixed + per_row) return text + "\n  not even one sample fits; use fewer replicas or a smaller network";
  const auto rows = static_cast<std::int64_t>((share - fixed) / per_row);
  const std::int64_t batch = rows * options.devices.replicas * experiment.config.train.accumulate_steps;
  return text + fmt::format("\n  the largest global batch that fits is about {}; --accumulate {} keeps the batch and cuts the memory", batch,
                            experiment.config.train.accumulate_steps * ((dry.memory.rows + rows - 1) / rows));
}

}  // namespace

std::unique_ptr<train::Session> make_session(const train::Experiment& experiment, const train::SessionOptions& options) try {
  return std::make_unique<train::Session>(experiment, options);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kMemory) throw;
  throw Error(ErrorKind::kMemory, error.what() + advice(experiment, options));
}

}  // namespace dptrain::cli
