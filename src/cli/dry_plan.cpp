#include "cli/dry_plan.h"

#include <algorithm>
#include <thread>

#include "core/error.h"
#include "core/format.h"
#include "device/device.h"
#include "replica/replica_set.h"

namespace dptrain::cli {
namespace {

/// Rows of the largest micro-batch of any replica.
std::int64_t largest_slice(const train::Experiment& experiment, int replicas) {
  const train::ConfigFile& config = experiment.config;
  if (!config.train.batch_size && !config.train.batch_size_per_replica) return kDefaultRows;
  std::vector<double> weights = config.parallel.split.weights;
  if (weights.empty()) weights.assign(static_cast<std::size_t>(replicas), 1.0);
  if (static_cast<int>(weights.size()) != replicas)
    throw Error(ErrorKind::kUsage, fmt::format("split has {} weights, there are {} replicas; give --cpus {}",
                                               weights.size(), replicas, weights.size()));
  const auto shares = replica::split_rows(train::global_batch(config.train, replicas), weights);
  const std::int64_t largest = *std::max_element(shares.begin(), shares.end());
  return std::max<std::int64_t>(1, (largest + config.train.accumulate_steps - 1) / config.train.accumulate_steps);
}

plan::PlanOptions plan_options(const train::Experiment& experiment) {
  const train::ConfigFile& config = experiment.config;
  plan::PlanOptions options;
  options.loss = config.train.loss;
  if (options.loss) options.metrics.assign(config.train.metrics.begin(), config.train.metrics.end());
  // As class numbers where the loss takes them; the data set may bring rows of values instead, which costs memory for labels only.
  const bool classes = config.train.loss && config.train.loss.get_if<optim::CategoricalCrossentropySpec>() != nullptr;
  const bool sparse =
      config.train.loss && config.train.loss.get_if<optim::SparseCategoricalCrossentropySpec>() != nullptr;
  options.labels = classes || sparse ? optim::LabelKind::kClass : optim::LabelKind::kDense;
  options.bucket_bytes = config.parallel.bucket_size.bytes;
  options.sync_batchnorm = config.parallel.sync_batchnorm;
  return options;
}

std::uint64_t floats(std::int64_t n) { return static_cast<std::uint64_t>(n) * sizeof(float); }

}  // namespace

void make_dry_plan(const train::Experiment& experiment, const train::DeviceRequest& devices, DryPlan& result) {
  const train::ConfigFile& config = experiment.config;
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int threads = devices.threads > 0 ? devices.threads : std::max(1, cores / devices.replicas);
  const device::RuntimeOptions runtime{config.runtime.conv, config.runtime.bn_unbiased_running_var};
  const auto device = device::make_cpu_device(0, threads, runtime);
  device->enter();

  result.model = graph::make_model(experiment.graph, config.seed);
  result.plan = plan::make_plan(result.model, plan_options(experiment), *device);
  const std::int64_t rows = largest_slice(experiment, devices.replicas);
  std::vector<plan::Need> needs;
  std::uint32_t index = 0;
  for (const plan::Step& step : result.plan.steps) {
    const auto op = device->make_op({.plan = result.plan,
                                     .step = step,
                                     .rows = rows,
                                     .seed = config.seed,
                                     .stream_id = index++,
                                     .replicas = devices.replicas});
    op->prepare(rows);
    needs.push_back(op->need());
    result.choices.push_back(op->implementation());
  }
  const bool trains = static_cast<bool>(result.plan.loss.loss);
  const plan::Need loss_need = trains ? device->make_loss({.plan = result.plan, .rows = rows})->need() : plan::Need{};
  result.memory =
      plan::plan_memory(result.plan, needs, loss_need, rows, trains ? plan::Mode::kTraining : plan::Mode::kInference);
  if (trains) {
    result.slots = static_cast<int>(optim::slots(config.train.optimizer).size());
    if (optim::common(config.train.optimizer).use_ema) ++result.slots;
  }
  const std::int64_t gradients = trains ? result.plan.statistics_end * (config.train.accumulate_steps > 1 ? 2 : 1) : 0;
  result.replica_bytes =
      floats(result.plan.total + gradients + result.slots * result.plan.trainable_end) + result.memory.arena_bytes;
}

}  // namespace dptrain::cli
