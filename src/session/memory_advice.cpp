// What a user needs to know when memory runs out: what the plan wants, and the batch that would fit.

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "session/dry_plan.h"

namespace dptrain::session {
namespace {

/// Allocators round up, and drivers take some for themselves.
std::uint64_t usable(std::uint64_t share) { return share - share / 64; }

std::uint64_t bytes_for(const experiment::Experiment& experiment, const DeviceRequest& devices, DryOptions options,
                        std::int64_t batch) {
  options.global_batch = batch;
  DryPlan dry;
  make_dry_plan(experiment, devices, options, dry);
  return dry.replica_bytes;
}

/// The largest batch below `too_large` whose replicas fit, by bisection over their memory plans; 0: none does.
std::int64_t largest_batch(const experiment::Experiment& experiment, const DeviceRequest& devices,
                           const DryOptions& options, std::int64_t too_large, std::uint64_t share) {
  std::int64_t fits = 0;
  while (fits + 1 < too_large) {
    const std::int64_t middle = fits + (too_large - fits) / 2;
    (bytes_for(experiment, devices, options, middle) <= share ? fits : too_large) = middle;
  }
  return fits;
}

/// The fewest micro-batches, from `pieces` on, with which the whole batch fits; 0: none. A second arena of gradients
/// comes with them.
std::int64_t enough_pieces(experiment::Experiment experiment, const DeviceRequest& devices, const DryOptions& options,
                           std::int64_t batch, std::int64_t pieces, std::uint64_t share) {
  for (; pieces <= batch; pieces += std::max<std::int64_t>(1, pieces / 8)) {
    experiment.config.train.accumulate_steps = pieces;
    if (bytes_for(experiment, devices, options, batch) <= share) return pieces;
  }
  return 0;
}

}  // namespace

std::string memory_advice(const experiment::Experiment& experiment, const DeviceRequest& devices,
                          const DryOptions& options) {
  DryPlan dry;
  make_dry_plan(experiment, devices, options, dry);
  const std::uint64_t share =
      usable(memory_share(devices, *make_device(devices, 0, runtime_options(experiment.config))));
  std::string text = fmt::format(
      "\n  a replica wants {} for weights, gradients and optimizer, and {} for activations and scratch of {} rows; it "
      "can have {}",
      human_bytes(dry.replica_bytes - dry.batch_bytes), human_bytes(dry.batch_bytes), dry.memory.rows,
      human_bytes(share));
  if (dry.replica_bytes <= share) return text + "\n  which should do: something else has taken memory in between";
  const std::int64_t batch = options.global_batch.value_or(devices.replicas * kDefaultRows);
  const std::int64_t fits = largest_batch(experiment, devices, options, batch, share);
  if (fits == 0) return text + "\n  not even one sample fits; use fewer replicas or a smaller network";
  text += fmt::format("\n  the largest global batch that fits is {}", fits);
  if (!options.training || experiment.config.parallel.virtual_shards) return text + "; give --batch-size";
  const std::int64_t least = experiment.config.train.accumulate_steps.value_or(1) * ((batch + fits - 1) / fits);
  const std::int64_t pieces = enough_pieces(experiment, devices, options, batch, least, share);
  return pieces == 0 ? text : text + fmt::format("; --accumulate {} keeps the batch and cuts the memory", pieces);
}

}  // namespace dptrain::session
