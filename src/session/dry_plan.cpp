#include "session/dry_plan.h"

#include <algorithm>
#include <array>

#include "backend/measured_loss.h"
#include "backend/piecewise.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "experiment/mixed_labels.h"
#include "experiment/objectives.h"
#include "replica/balance.h"
#include "replica/replica_set.h"
#include "session/micro_batches.h"
#include "session/session_data.h"
#include "session/shards.h"
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
  const auto shares = replica::split_rows(batch, weights);
  std::int64_t largest = *std::max_element(shares.begin(), shares.end());
  if (config.parallel.split.automatic && options.training)
    largest = std::max(largest, replica::Balance({.ranks = replicas, .batch = batch}).most_rows());
  return largest;
}

plan::PlanOptions plan_options(const experiment::Experiment& experiment, const DeviceRequest& devices) {
  const experiment::ConfigFile& config = experiment.config;
  plan::PlanOptions options;
  options.objectives = objectives(config.train, experiment.graph);
  // As class numbers where the loss takes them; the data set may bring rows of values instead, which costs memory for
  // labels only.
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

/// What ops need for so many rows, and the losses together.
struct Needs {
  std::vector<plan::Need> of_steps;
  plan::Need of_losses;
  plan::Leads leads;
};

Needs needs_of(backend::Device& device, const experiment::Experiment& experiment, int replicas, std::int64_t rows,
               DryPlan& result) {
  // All are made before any is asked: devices make several ops' primitives at once.
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
  all.leads = backend::piece_pairs(result.plan, ops).leads;
  std::vector<plan::Need>& needs = all.of_steps;
  for (std::size_t s = 0; s < ops.size(); ++s) {
    needs.push_back(ops[s] ? ops[s]->need() : plan::Need{});
    result.choices.push_back(ops[s] ? ops[s]->implementation() : "");
    const auto [forward, backward] = ops[s] ? ops[s]->flops_per_sample() : std::pair<double, double>{};
    const auto frames = static_cast<double>(result.plan.steps[s].frames);
    result.flops.emplace_back(forward * frames, backward * frames);
    const plan::Step& step = result.plan.steps[s];
    const std::uint64_t saved = needs.back().saved;
    result.traffic.emplace_back(
        plan::forward_traffic(result.plan, step, device, rows, saved),
        step.has_backward ? plan::backward_traffic(result.plan, step, device, rows, saved) : plan::Traffic{});
  }
  plan::Need& losses = all.of_losses;
  for (const plan::LossStep& loss : result.plan.losses) {
    const plan::Need need = backend::measured_loss({.plan = result.plan, .loss = loss, .rows = rows}, device)->need();
    losses = {.saved = std::max(losses.saved, need.saved), .scratch = std::max(losses.scratch, need.scratch)};
  }
  return all;
}

/// Parameters, what ops make of them, gradients, slots and averages.
std::uint64_t weight_bytes(const DryPlan& result, bool trains, int gradient_arenas) {
  const plan::Plan& plan = result.plan;
  const std::int64_t gradients = trains ? plan.statistics_end * gradient_arenas : 0;
  const std::uint64_t copy =
      plan.compute == DType::kF32 ? 0 : static_cast<std::uint64_t>(plan.total) * size_of(plan.compute);
  return floats(plan.total + gradients + (trains ? result.slots * plan.slot_floats() : 0)) + copy +
         result.memory.packed_bytes;
}

/// A device that cannot read the host's memory keeps the batch: inputs, as they come and as they are computed with, and
/// labels. Twice where batches follow one another.
std::uint64_t staging_bytes(const plan::Plan& plan, const backend::Device& device, std::int64_t rows, bool in_turns) {
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
  return bytes * (in_turns ? 2 : 1) + (plan.compute == DType::kF32 ? 0 : arriving);
}

/// What the device would keep of the data sets, as far as they are at hand.
void look_at_data(const experiment::Experiment& experiment, const DeviceRequest& request, const backend::Device& device,
                  std::int64_t rows, DryPlan& result) {
  const std::uint64_t share = device.memory_available() / sharers_of_a_gpu(request);
  // The whole batch, as what decides at the start of a run counts it.
  const std::int64_t batch =
      rows * request.replicas * slices_of_replica(experiment.config, request.replicas, result.micro_batches);
  SessionOptions options;
  options.devices = request;
  try {
    const SessionData data(experiment, result.model.graph, options,
                           {.global_batch = batch, .busy_threads = 1, .allocate = {}});
    result.inputs = feed_memory(experiment, device.kind(), batch,
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
  with.cpus.clear();  // the calling thread has other work
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
  const auto [needs, loss_need, leads] = needs_of(*device, experiment, request.replicas, rows, result);
  const bool trains = options.training && result.plan.has_loss();
  const plan::Mode mode = trains ? plan::Mode::kTraining : plan::Mode::kInference;
  result.memory = plan::plan_memory(result.plan, needs, loss_need, rows, mode, 0, leads);
  for (int slot = 1; slot < result.plan.slot_count(); ++slot)
    result.other_memories.push_back(plan::plan_memory(result.plan, needs, loss_need, rows, mode, slot, leads));
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
  if (options.data && trains && !device->reads_host_memory()) look_at_data(experiment, request, *device, rows, result);
}

std::uint64_t DryPlan::all_bytes() const {
  std::uint64_t all = replica_bytes;
  for (const FeedMemory& input : inputs) all += input.samples + input.working;
  return all;
}

std::string DryPlan::text() const {
  std::string text = plan::print(plan, memory, choices, slots, other_memories);
  if (micro_batches > 1)
    text +=
        fmt::format("a step takes {} micro-batches of {} rows (train.accumulate_steps)\n", micro_batches, memory.rows);
  if (staging_bytes == 0) return text;
  std::vector<std::array<std::string, 3>> lines{
      {"staging", human_bytes(staging_bytes), "batches on their way: two sets of inputs and labels"}};
  for (const FeedMemory& input : inputs)
    lines.push_back({"data." + input.name, human_bytes(input.samples + input.working),
                     input.resident ? fmt::format("resident: {} of samples, up to {} to make batches",
                                                  human_bytes(input.samples), human_bytes(input.working))
                                    : "uploaded as it is: up to so much to make batches"});
  lines.push_back({"all", human_bytes(all_bytes()), "the total above and this"});
  text += "on the device besides\n";
  for (const auto& [name, bytes, note] : lines) text += fmt::format("  {:<16}  {:>10}  {}\n", name, bytes, note);
  if (!inputs_unknown.empty()) text += fmt::format("  without the data sets: {}\n", inputs_unknown);
  return text;
}

}  // namespace dptrain::session
