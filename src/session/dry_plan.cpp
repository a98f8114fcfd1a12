#include "session/dry_plan.h"

#include <algorithm>
#include <array>
#include <bit>

#include "backend/fusible_passes.h"
#include "backend/measured_loss.h"
#include "core/error.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "experiment/checks.h"
#include "experiment/objectives.h"
#include "nn/loss.h"
#include "nn/optimizer.h"
#include "runtime/balance.h"
#include "runtime/replica_set.h"
#include "session/session.h"
#include "session/session_data.h"
#include "session/slots.h"

namespace dptrain::session {
namespace {

/// Rows of the largest share of any replica.
std::int64_t largest_share(const experiment::Experiment& experiment, int replicas, const DryOptions& options) {
  const experiment::ConfigFile& config = experiment.config;
  if (!options.global_batch && !config.train.batch_size && !config.train.batch_size_per_replica) return kDefaultRows;
  std::vector<double> weights = config.parallel.split.weights;
  if (weights.empty()) weights.assign(static_cast<std::size_t>(replicas), 1.0);
  if (static_cast<int>(weights.size()) != replicas)
    throw Error(ErrorKind::kUsage, fmt::format("split has {} weights, there are {} replicas; give --cpus {}",
                                               weights.size(), replicas, weights.size()));
  const std::int64_t batch = options.global_batch ? *options.global_batch : global_batch(config.train, replicas);
  const auto shares = runtime::split_rows(batch, weights);
  std::int64_t largest = *std::max_element(shares.begin(), shares.end());
  if (config.parallel.split.automatic && options.training)
    largest = std::max(largest, runtime::Balance({.ranks = replicas, .batch = batch}).max_rows());
  return largest;
}

plan::PlanOptions plan_options(const experiment::Experiment& experiment, const DeviceRequest& devices) {
  const experiment::ConfigFile& config = experiment.config;
  plan::PlanOptions options;
  options.objectives = objectives(config.train, experiment.graph);
  // Class numbers if the loss accepts them. A data set with rows of values instead needs more memory, for labels only.
  for (plan::Objective& objective : options.objectives)
    objective.labels =
        nn::loss_type(objective.loss).reads == nn::Reads::kClasses && !experiment::mixing_transform(config.data)
            ? nn::LabelKind::kClass
            : nn::LabelKind::kDense;
  options.bucket_bytes = bucket_bytes(config.parallel, devices);
  options.compute = compute_type(config.train.dtype_policy, devices);
  options.sync_batchnorm = config.parallel.sync_batchnorm;
  if (!config.parallel.virtual_shards) options.tables_from = tables_from(config.train, devices);
  return options;
}

/// Rows of the largest micro-batch or shard of that share.
std::int64_t slice_of(std::int64_t share, const experiment::ConfigFile& config, int replicas, const DryOptions& options,
                      std::int64_t micro_batches) {
  const std::int64_t pieces =
      options.training || config.parallel.virtual_shards ? slices_of_replica(config, replicas, micro_batches) : 1;
  return std::max<std::int64_t>(1, (share + pieces - 1) / pieces);
}

std::uint64_t floats(std::int64_t n) { return static_cast<std::uint64_t>(n) * sizeof(float); }

/// Memory needs of the ops for `rows` rows, and the largest needs of the losses.
struct Needs {
  std::vector<plan::Need> of_steps;
  plan::Need of_losses;
  plan::DeferredPasses defers_last_pass;
};

Needs needs_of(backend::Device& device, const experiment::Experiment& experiment, int replicas, std::int64_t rows,
               DryPlan& result) {
  // Make all ops before querying any, because devices build the primitives of several ops at once.
  std::vector<std::unique_ptr<backend::Op>> ops;
  for (const plan::Step& step : result.plan.steps) {
    if (step.copies) {
      ops.push_back(nullptr);
      continue;
    }
    ops.push_back(device.make_op({.plan = result.plan,
                                  .step = step,
                                  .rows = rows * step.frames,
                                  .seed = experiment.config.seed,
                                  .stream_id = static_cast<std::uint32_t>(step.node),
                                  .replicas = replicas}));
    ops.back()->prepare(rows * step.frames);
  }
  Needs all;
  all.defers_last_pass = backend::fused_passes(result.plan, ops).defers_last_pass;
  std::vector<plan::Need>& needs = all.of_steps;
  for (std::size_t s = 0; s < ops.size(); ++s) {
    needs.push_back(ops[s] ? ops[s]->need() : plan::Need{});
    result.choices.push_back(ops[s] ? ops[s]->implementation() : "");
    const auto [forward, backward] = ops[s] ? ops[s]->flops_per_sample() : std::pair<double, double>{};
    const auto frames = static_cast<double>(result.plan.steps[s].frames);
    result.flops.emplace_back(forward * frames, backward * frames);
  }
  plan::Need& losses = all.of_losses;
  for (const plan::LossStep& loss : result.plan.losses) {
    const plan::Need need = backend::measured_loss({.plan = result.plan, .loss = loss, .rows = rows}, device)->need();
    losses = {.saved = std::max(losses.saved, need.saved), .scratch = std::max(losses.scratch, need.scratch)};
  }
  return all;
}

/// Bytes of parameters, their packed copies, gradients, optimizer slots and averages.
std::uint64_t weight_bytes(const DryPlan& result, bool trains, int gradient_arenas) {
  const plan::Plan& plan = result.plan;
  const std::int64_t gradients = trains ? plan.statistics_end * gradient_arenas : 0;
  const std::uint64_t copy =
      plan.compute == DType::kF32 ? 0 : static_cast<std::uint64_t>(plan.total) * size_of(plan.compute);
  return floats(plan.total + gradients + (trains ? result.slots * plan.slot_floats() : 0)) + copy +
         result.memory.packed_bytes;
}

/// Bytes of the batch on a device that cannot read host memory: inputs, before and after conversion, and labels.
/// Doubled where copies of the next batch overlap.
std::uint64_t staging_bytes(const plan::Plan& plan, const backend::Device& device, std::int64_t rows,
                            bool double_buffered) {
  if (device.reads_host_memory()) return 0;
  std::uint64_t bytes = 0, arriving = 0;
  for (const int input : plan.inputs) {
    const plan::Tensor& tensor = plan.tensors[static_cast<std::size_t>(input)];
    bytes += tensor.bytes(rows);
    arriving = std::max(arriving, floats(tensor.elements(rows)));
  }
  for (const plan::LossStep& loss : plan.losses) {
    const std::int64_t width = plan.tensors[static_cast<std::size_t>(loss.prediction)].shape.elements();
    bytes += floats(rows * (loss.labels == nn::LabelKind::kClass ? 1 : width));
  }
  if (plan.has_loss()) bytes += floats(rows);  // sample weights
  return bytes * (double_buffered ? 2 : 1) + (plan.compute == DType::kF32 ? 0 : arriving);
}

/// Fills `result.inputs`: memory on the device for the data sets that can be opened.
void plan_device_datasets(const experiment::Experiment& experiment, const DeviceRequest& request,
                          const backend::Device& device, std::int64_t rows, DryPlan& result) {
  const std::uint64_t share = device.memory_available() / max_slots_per_gpu(request);
  // The whole batch, as in the decision at the start of a run.
  const std::int64_t batch =
      rows * request.replicas * slices_of_replica(experiment.config, request.replicas, result.micro_batches);
  SessionOptions options;
  options.devices = request;
  try {
    const SessionData data(experiment, result.model.graph, options,
                           {.global_batch = batch, .busy_threads = 1, .allocate = {}});
    result.inputs = device_dataset_memory(experiment, device.kind(), batch,
                                          share > result.replica_bytes ? share - result.replica_bytes : 0, data);
  } catch (const Error& error) {
    result.inputs_unknown = error.what();
  }
}

}  // namespace

void make_dry_plan(const experiment::Experiment& experiment, const DeviceRequest& asked, const DryOptions& options,
                   DryPlan& result) {
  const DeviceRequest request = place_slots(asked, experiment.graph);
  const experiment::ConfigFile& config = experiment.config;
  DeviceRequest with = with_threads(request);
  with.cpus.clear();  // the calling thread must not be bound
  const auto device = make_device(with, 0, runtime_options(config, options.conv_choices));
  device->enter();
  result.device = device->description();
  result.device_bytes = device->memory_available();

  result.model = graph::undrawn_model(experiment.graph, config.seed);
  plan::PlanOptions planned = plan_options(experiment, request);
  planned.slots = request.placement;
  result.plan = plan::make_plan(result.model, planned, *device);
  const std::int64_t share = largest_share(experiment, request.replicas, options);
  if (options.training) result.micro_batches = micro_batches(config, result.plan, with, 1, share);
  const std::int64_t rows = slice_of(share, config, request.replicas, options, result.micro_batches);
  const auto [needs, loss_need, defers_last_pass] = needs_of(*device, experiment, request.replicas, rows, result);
  const bool trains = options.training && result.plan.has_loss();
  const plan::Mode mode = trains ? plan::Mode::kTraining : plan::Mode::kInference;
  result.memory = plan::plan_memory(result.plan, needs, loss_need, rows, mode, 0, defers_last_pass);
  for (int slot = 1; slot < result.plan.slot_count(); ++slot)
    result.other_memories.push_back(
        plan::plan_memory(result.plan, needs, loss_need, rows, mode, slot, defers_last_pass));
  if (trains) {
    result.slots = static_cast<int>(nn::slots(config.train.optimizer).size());
    if (nn::common(config.train.optimizer).use_ema) ++result.slots;
  }
  result.staging_bytes = staging_bytes(result.plan, *device, rows, result.plan.has_loss());
  result.batch_bytes = result.memory.arena_bytes + result.staging_bytes;
  for (const plan::MemoryPlan& other : result.other_memories)
    if (device->reads_host_memory()) result.batch_bytes += other.arena_bytes + other.packed_bytes;
  result.replica_bytes = weight_bytes(result, trains, gradient_arenas(config, request.replicas, result.micro_batches)) +
                         result.batch_bytes;
  if (options.data && trains && !device->reads_host_memory())
    plan_device_datasets(experiment, request, *device, rows, result);
}

std::uint64_t DryPlan::all_bytes() const {
  std::uint64_t all = replica_bytes;
  for (const DatasetMemory& input : inputs) all += input.samples + input.working;
  return all;
}

std::string DryPlan::text() const {
  std::string text = plan::print(plan, memory, choices, slots, other_memories);
  if (micro_batches > 1)
    text += fmt::format("a step has {} of {} (train.accumulate_steps)\n", counted(micro_batches, "micro-batch"),
                        counted(memory.rows, "row"));
  if (staging_bytes == 0) return text;
  std::vector<std::array<std::string, 3>> lines{
      {"staging", human_bytes(staging_bytes), "batches in transfer: two sets of inputs and labels"}};
  for (const DatasetMemory& input : inputs)
    lines.push_back({"data." + input.name, human_bytes(input.samples + input.working),
                     input.resident ? fmt::format("resident: {} of samples, up to {} to make batches",
                                                  human_bytes(input.samples), human_bytes(input.working))
                                    : "uploaded as it is: at most this to make batches"});
  lines.push_back({"all", human_bytes(all_bytes()), "the total above plus these"});
  text += "additional memory of the device\n";
  for (const auto& [name, bytes, note] : lines) text += fmt::format("  {:<16}  {:>10}  {}\n", name, bytes, note);
  if (!inputs_unknown.empty()) text += fmt::format("  without the data sets: {}\n", inputs_unknown);
  return text;
}

int virtual_shards(const experiment::ParallelSection& parallel, int ranks) {
  if (!parallel.virtual_shards) return 0;
  const auto shards = static_cast<int>(*parallel.virtual_shards);
  if (std::has_single_bit(static_cast<unsigned>(ranks)) && ranks <= shards) return shards;
  std::vector<std::string> fitting;
  for (int replicas = 1; replicas < shards; replicas *= 2) fitting.push_back(std::to_string(replicas));
  const std::string fewer = fitting.empty() ? "" : join(fitting, ", ") + " or ";
  throw Error(ErrorKind::kUsage, fmt::format("parallel.virtual_shards: {} needs {}{}, found {}", shards, fewer,
                                             counted(shards, "replica"), ranks));
}

std::int64_t slices_of_replica(const experiment::ConfigFile& config, int ranks, std::int64_t micro_batches) {
  const int shards = virtual_shards(config.parallel, ranks);
  return shards > 0 ? shards / ranks : micro_batches;
}

int gradient_arenas(const experiment::ConfigFile& config, int ranks, std::int64_t micro_batches) {
  const std::int64_t slices = slices_of_replica(config, ranks, micro_batches);
  if (!config.parallel.virtual_shards) return slices > 1 ? 2 : 1;
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(slices)));
}

plan::CacheShare cache_of_replica(const std::vector<machine::Cache>& caches, int replicas, int threads) {
  constexpr std::uint64_t kPartOfLast = 8;
  if (caches.size() < 2) return {};
  const auto of_one = [&](const machine::Cache& cache) {
    return cache.bytes_for_threads(replicas * threads) / static_cast<std::uint64_t>(replicas);
  };
  const std::uint64_t last = of_one(caches.back());
  return {.wanted = std::max(of_one(caches[1]), last / kPartOfLast), .last = last};
}

std::int64_t micro_batches(const experiment::ConfigFile& config, const plan::Plan& plan, const DeviceRequest& devices,
                           int sharers, std::int64_t rows) {
  if (config.train.accumulate_steps) return *config.train.accumulate_steps;
  if (config.parallel.virtual_shards || devices.on_gpus() || !devices.plan_only_gpu.empty()) return 1;
  return plan::micro_batches_in_cache(plan, rows,
                                      cache_of_replica(machine::caches(), devices.replicas * sharers, devices.threads));
}

namespace {

// Advice when memory runs out: the memory that the plan needs, and the batch that would fit.

/// Part of `share` that a plan can use: allocators round up, and drivers use some memory themselves.
std::uint64_t usable(std::uint64_t share) { return share - share / 64; }

std::uint64_t bytes_for(const experiment::Experiment& experiment, const DeviceRequest& devices, DryOptions options,
                        std::int64_t batch) {
  options.global_batch = batch;
  DryPlan dry;
  make_dry_plan(experiment, devices, options, dry);
  return dry.replica_bytes;
}

/// The largest batch below `too_large` whose replicas fit, by bisection over their memory plans; 0: no batch fits.
std::int64_t largest_batch(const experiment::Experiment& experiment, const DeviceRequest& devices,
                           const DryOptions& options, std::int64_t too_large, std::uint64_t share) {
  std::int64_t fits = 0;
  while (fits + 1 < too_large) {
    const std::int64_t middle = fits + (too_large - fits) / 2;
    (bytes_for(experiment, devices, options, middle) <= share ? fits : too_large) = middle;
  }
  return fits;
}

/// The first number of micro-batches, from `pieces` on in steps of an eighth, with which the whole batch fits; 0: none.
/// Includes the additional gradient arena.
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
      "\n  a replica needs {} for weights, gradients and optimizer, and {} for activations and scratch of {}; "
      "available: {}",
      human_bytes(dry.replica_bytes - dry.batch_bytes), human_bytes(dry.batch_bytes), counted(dry.memory.rows, "row"),
      human_bytes(share));
  if (dry.replica_bytes <= share)
    return text + "\n  this should be enough: other programs may have taken memory meanwhile";
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
