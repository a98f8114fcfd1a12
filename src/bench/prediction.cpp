#include "bench/prediction.h"

#include <algorithm>
#include <cmath>

#include "core/index.h"
#include "nn/normalization.h"
#include "session/dry_plan.h"

namespace dptrain::bench {
namespace {

/// Gathers of global statistics: one in forward, one in backward of each synchronized BatchNormalization.
int gathers_of(const plan::Plan& plan) {
  int gathers = 0;
  for (const plan::Step& step : plan.steps) {
    const auto* norm = step.spec.get_if<nn::BatchNormalizationSpec>();
    if (norm != nullptr && norm->synchronized && !step.inference_mode) gathers += step.has_backward ? 2 : 1;
  }
  return gathers;
}

/// `measured`: the device has run the network, so it supports the config's policy.
void make_dry(const experiment::Experiment& experiment, const session::DeviceRequest& device, std::int64_t rows,
              bool measured, session::DryPlan& dry) {
  session::DeviceRequest one = device;
  one.replicas = 1;
  if (!one.gpus.empty()) one.gpus.resize(1);
  experiment::Experiment alone = experiment;
  alone.config.parallel.split = {};
  // Gradients are float32 with every policy. Without a measurement, this CPU may lack bfloat16, so plan in float32.
  if (!measured && !one.on_gpus()) alone.config.train.dtype_policy = experiment::DtypePolicy::kFloat32;
  session::make_dry_plan(alone, one, {.global_batch = rows}, dry);
}

}  // namespace

StepParts parts_of(const plan::Plan& plan, const std::vector<StepWeight>& weights, double seconds,
                   std::int64_t micro_batches) {
  if (weights.size() != plan.steps.size())
    throw Error(ErrorKind::kInternal, fmt::format("{} times of a plan of {} steps", weights.size(), plan.steps.size()));
  const bool unknown =
      std::ranges::all_of(weights, [](const StepWeight& weight) { return weight.forward + weight.backward <= 0; });
  const auto weight = [&](int step) { return unknown ? StepWeight{1, 1} : weights[at(step)]; };
  double forward = 0, backward = 0;
  for (int step = 0; step < static_cast<int>(plan.steps.size()); ++step) forward += weight(step).forward;
  std::vector<double> ready(plan.buckets.size(), 0.0);
  for (const plan::BackwardItem& item : plan.backward) {
    if (item.kind == plan::BackwardItem::Kind::kStep) backward += weight(item.step).backward;
    for (const int bucket : item.buckets_ready) ready[at(bucket)] = backward;
  }
  const double each = seconds / (forward + backward) / static_cast<double>(micro_batches);
  StepParts parts;
  parts.backward = backward * each;
  parts.forward = seconds - parts.backward;
  for (std::size_t b = 0; b < plan.buckets.size(); ++b)
    parts.buckets.push_back({.bytes = static_cast<double>(plan.buckets[b].end - plan.buckets[b].begin) * sizeof(float),
                             .ready = ready[b] * each});
  parts.gathers = gathers_of(plan) * static_cast<int>(micro_batches);
  return parts;
}

StepParts given_parts(const experiment::Experiment& experiment, const session::DeviceRequest& device, std::int64_t rows,
                      double seconds) {
  session::DryPlan dry;
  make_dry(experiment, device, rows, false, dry);
  std::vector<StepWeight> weights;
  for (const auto& [forward, backward] : dry.flops) weights.push_back({forward, backward});
  return parts_of(dry.plan, weights, seconds, dry.micro_batches);
}

StepParts measured_parts(const experiment::Experiment& experiment, const session::DeviceRequest& device,
                         std::int64_t rows, int side_by_side, const BenchOptions& options) {
  experiment::Experiment alone = experiment;
  alone.config.parallel.split = {};
  BenchOptions bench_options = options;
  bench_options.processes = nullptr;
  bench_options.layers = true;
  bench_options.devices = device;
  bench_options.devices.replicas = side_by_side;
  bench_options.devices.cpus.clear();  // the binding is for another number of replicas
  bench_options.batch = rows * side_by_side;
  const BenchRow row = bench(alone, bench_options);
  session::DryPlan dry;
  make_dry(experiment, device, rows, true, dry);
  std::vector<StepWeight> weights;
  for (const LayerTime& layer : row.layers) weights.push_back({layer.forward_ms, layer.backward_ms});
  StepParts parts = parts_of(dry.plan, weights, row.forward_backward_ms * 1e-3, row.micro_batches);
  parts.update = row.optimizer_ms * 1e-3;
  // Includes the time that replicas wait for each other: with shared cores, some are late whatever the algorithm.
  const double known = row.forward_backward_ms + row.optimizer_ms + row.data_wait_ms;
  parts.other = std::max(0.0, row.step_ms - known) * 1e-3;
  return parts;
}

std::string name_of(SumAlgorithm algorithm) {
  switch (algorithm) {
    case SumAlgorithm::kRing: return "ring";
    case SumAlgorithm::kTree: return "tree";
    case SumAlgorithm::kTwoLevel: return "two_level";
    case SumAlgorithm::kDirect: return "direct";
  }
  return "";
}

StepParts StepParts::scaled(double factor) const {
  StepParts out = *this;
  for (double* const seconds : {&out.forward, &out.backward, &out.update, &out.other}) *seconds *= factor;
  for (Bucket& bucket : out.buckets) bucket.ready *= factor;
  return out;
}

double Cluster::slowdown() const {
  if (cores == 0) return 1;
  return std::max(1.0, static_cast<double>(in_node()) * local_ranks * threads / cores);
}

double Cluster::overlap() const {
  if (cores == 0) return 1;
  const double free = cores - static_cast<double>(in_node()) * local_ranks * threads;
  return std::clamp(free / in_node(), 0.0, 1.0);  // each process has one communication thread
}

namespace {

double log2_up(int n) { return std::ceil(std::log2(static_cast<double>(n))); }

/// Values of a cluster, named as in the equations of prediction.h.
struct Letters {
  explicit Letters(const Cluster& cluster)
      : n(cluster.ranks),
        m(cluster.in_node()),
        N(cluster.nodes()),
        inner(cluster.inner.bytes_per_second),
        outer(cluster.between.bytes_per_second),
        slowest(cluster.nodes() > 1 ? std::min(inner, outer) : inner),
        a_i(cluster.inner.latency),
        a_o(cluster.between.latency) {}
  const double n, m, N, inner, outer, slowest, a_i, a_o;
};

}  // namespace

double all_reduce_seconds(SumAlgorithm algorithm, const Cluster& cluster, double bytes) {
  const Letters c(cluster);
  // First, the replicas of a process are summed in its memory.
  const double in_memory = cluster.local_ranks > 1 ? (cluster.local_ranks - 1) * bytes / c.inner : 0;
  if (cluster.ranks == 1) return in_memory;
  switch (algorithm) {
    case SumAlgorithm::kRing:
      return in_memory + 2 * (c.n - 1) / c.n * bytes / c.slowest + 2 * (c.n - c.N) * c.a_i + 2 * (c.N - 1) * c.a_o;
    case SumAlgorithm::kTree:
      return in_memory + 2 * bytes / c.slowest + 2 * ((c.m - 1) * c.a_i + log2_up(cluster.nodes()) * c.a_o);
    case SumAlgorithm::kTwoLevel:
      return in_memory + 2 * (c.m - 1) / c.m * bytes / c.inner + 2 * (c.m - 1) * c.a_i +
             2 * (c.N - 1) / c.N * bytes / c.outer + 2 * (c.N - 1) * c.a_o;
    case SumAlgorithm::kDirect: {
      const double within = (c.m - 1) / c.n * bytes / c.inner, across = c.m * (c.n - c.m) / c.n * bytes / c.outer;
      return in_memory + 2 * (within + across) + 2 * gather_seconds(algorithm, cluster);
    }
  }
  return 0;
}

double gather_seconds(SumAlgorithm algorithm, const Cluster& cluster) {
  const Letters c(cluster);
  if (cluster.ranks == 1) return 0;
  if (algorithm == SumAlgorithm::kDirect) return c.N > 1 ? std::max(c.a_i, c.a_o) : c.a_i;
  return (c.n - c.N) * c.a_i + (c.N - 1) * c.a_o;  // all algorithms of NCCL's all-gather are variants of the ring
}

Prediction predict(const StepParts& parts, const Cluster& cluster, const std::vector<SumAlgorithm>& algorithms) {
  Prediction result{.algorithm = algorithms.front()};
  const double slowdown = cluster.slowdown() / parts.slowdown, overlap = cluster.overlap();
  const double link_slowdown = cluster.slowdown() / cluster.inner.slowdown;
  const double gathers = cluster.ranks == 1 ? 0 : parts.gathers * gather_seconds(algorithms.front(), cluster);
  double sums = 0, free_at = 0, largest = 0;
  for (const StepParts::Bucket& bucket : parts.buckets) {
    const auto seconds = [&](SumAlgorithm algorithm) { return all_reduce_seconds(algorithm, cluster, bucket.bytes); };
    const SumAlgorithm best = *std::ranges::min_element(algorithms, {}, seconds);
    sums += seconds(best);
    free_at = std::max(free_at, bucket.ready) + overlap * seconds(best);
    if (bucket.bytes > largest) result.algorithm = best, largest = bucket.bytes;
  }
  const double after_backward = std::max(0.0, free_at - parts.backward);
  result.compute = slowdown * parts.compute();
  result.communication = link_slowdown * (sums + gathers);
  // If threads share cores (slowdown above 1), no core is free, so nothing overlaps.
  result.exposed = link_slowdown * ((1 - overlap) * sums + gathers + after_backward);
  result.step = result.compute + result.exposed;
  return result;
}

}  // namespace dptrain::bench
