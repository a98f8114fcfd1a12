#include "bench/bench.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "core/activity.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "core/index.h"
#include "core/log.h"
#include "core/quantity.h"
#include "nn/optimizer.h"
#include "plan/traffic.h"
#include "runtime/batch_queue.h"
#include "session/environment.h"
#include "session/session.h"

namespace dptrain::bench {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

struct Sample {
  double seconds = 0, examples = 0, forward_backward = 0, comm = 0, optimizer = 0, wait = 0;
};

/// Batches of the train loader across epochs, or the same batch each time.
class BenchBatches {
 public:
  BenchBatches(data::Loader& loader, bool one_batch) : loader_(loader), one_batch_(one_batch) {
    loader_.seek(0, 0);
    batch_ = std::make_shared<const data::Batch>(loader_.next());
  }
  /// The batch for the next step, which the caller holds until the step is over, and the seconds of waiting for it.
  std::pair<std::shared_ptr<const data::Batch>, double> next() {
    if (one_batch_) return {batch_, 0};
    const Stopwatch watch;
    if (!first_) {
      batch_.reset();  // returns its buffer to the workers first, if no step uses it
      batch_ = std::make_shared<const data::Batch>(session::next_batch(loader_));
    }
    first_ = false;
    return {batch_, watch.seconds()};
  }

 private:
  data::Loader& loader_;
  const bool one_batch_;
  bool first_ = true;
  std::shared_ptr<const data::Batch> batch_;
};

class Run {
 public:
  Run(session::Session& session, const BenchOptions& options)
      : session_(session),
        options_(options),
        batches_(session.train_loader(), options.data == BenchData::kSynthetic),
        ahead_(session.replicas()) {}

  /// Examples per second of the loader alone: at most `count` batches or a few seconds, after the prefetched ones.
  double loader_alone(std::int64_t count) {
    constexpr double kLongest = 3.0;
    for (int i = 0; i < session_.train_loader().prefetch(); ++i) batches_.next();
    const Stopwatch watch;
    double examples = 0;
    for (std::int64_t i = 0; i < count && watch.seconds() < kLongest; ++i)
      examples += static_cast<double>(batches_.next().first->rows());
    return examples / watch.seconds();
  }

  Sample steps(std::int64_t count) {
    Sample sample;
    const Stopwatch total;
    for (std::int64_t i = 0; i < count; ++i) {
      auto [batch, waited] = batches_.next();
      sample.wait += waited;
      sample.examples += static_cast<double>(batch->rows());
      if (options_.data == BenchData::kLoaderOnly) continue;
      step(std::move(batch), sample);
    }
    const Stopwatch rest;
    while (!ahead_.empty()) ahead_.collect();
    sample.forward_backward += rest.seconds();
    sample.seconds = total.seconds();
    return sample;
  }

 private:
  /// Collects queued steps as the trainer does.
  void step(std::shared_ptr<const data::Batch> batch, Sample& sample) {
    const runtime::StepInputs inputs{number_, session_.scheduled_rate(nn::Progress::at_step(number_)), batch->rows()};
    ++number_;
    ahead_.step(std::move(batch), inputs);
    while (ahead_.is_due()) ahead_.collect();
    const runtime::StepTimes times = session_.replicas().times();
    sample.forward_backward += times.forward_backward;
    sample.comm += times.comm_exposed;
    sample.optimizer += times.optimizer;
  }

  session::Session& session_;
  const BenchOptions& options_;
  BenchBatches batches_;
  std::int64_t number_ = 0;
  runtime::BatchQueue ahead_;
};

runtime::Replica::Profile profile_of(session::Session& session) {
  runtime::Replica::Profile profile;
  session.replicas().on_each([&](int rank, runtime::Replica& replica) {
    if (rank == 0) profile = replica.profile();
  });
  return profile;
}

/// Floats of optimizer state per trained weight.
int states_of(const experiment::Experiment& experiment) {
  const auto& optimizer = experiment.config.train.optimizer;
  return static_cast<int>(nn::slots(optimizer).size()) + int{nn::common(optimizer).use_ema};
}

/// The measured peak is that of float32 multiply-adds, so it does not apply to bfloat16 products.
bool of_float32(const session::Session& session) {
  return session.experiment().config.train.dtype_policy == experiment::DtypePolicy::kFloat32;
}

void profile_layers(session::Session& session, Run& run, BenchRow& row, std::int64_t steps) {
  session.replicas().on_each([](int, runtime::Replica& replica) { replica.set_profiling(true); });
  run.steps(steps);
  const runtime::Replica::Profile profile = profile_of(session);
  std::vector<std::string> implementations;
  session.replicas().on_each([&](int rank, runtime::Replica& replica) {
    if (rank == 0) implementations = replica.implementations();
    replica.set_profiling(false);
  });
  const double n = static_cast<double>(steps);
  const auto gflops = [](const runtime::Replica::PassProfile& pass) {
    return pass.seconds > 0 ? pass.operations / pass.seconds * 1e-9 : 0;
  };
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    const auto& [forward, backward] = profile.steps[i];
    row.layers.push_back({session.plan().steps[i].name, implementations[i], forward.seconds / n * 1e3,
                          backward.seconds / n * 1e3, gflops(forward), gflops(backward)});
  }
  if (session.devices().on_gpus()) return;
  row.limits = backend::cpu_limits(threads_in_use(session.devices()));
  if (!of_float32(session)) row.limits.peak_gflops = 0;
  row.passes = pass_times(profile,
                          {.plan = session.plan(),
                           .devices = session.devices(),
                           .steps = n,
                           .states = states_of(session.experiment()),
                           .processes = row.processes,
                           .update_ms = row.optimizer_ms,
                           .waiting_ms = row.comm_exposed_ms},
                          row.limits);
}

/// Processes have the same number of threads, and each measures its own peak.
void measure_peak(session::Session& session, BenchRow& row) {
  if (session.devices().on_gpus() || !of_float32(session)) return;
  row.peak_gflops = backend::cpu_peak_gflops(threads_in_use(session.devices())) * row.processes;
  row.of_peak = profile_of(session).operations_per_sample * row.examples_per_second / (row.peak_gflops * 1e9);
}

std::uint64_t largest_replica(session::Session& session) {
  std::vector<std::uint64_t> bytes(static_cast<std::size_t>(session.replica_count()));
  session.replicas().on_each(
      [&](int rank, runtime::Replica& replica) { bytes[static_cast<std::size_t>(rank)] = replica.bytes(); });
  return *std::max_element(bytes.begin(), bytes.end());
}

/// Synthetic data uses a single batch: the loader need not prefetch others.
experiment::Experiment for_bench(experiment::Experiment experiment, const BenchOptions& options) {
  if (options.data == BenchData::kSynthetic) experiment.config.data.loader.prefetch = {1};
  return experiment;
}

session::SessionOptions session_options(const BenchOptions& options) {
  return {.devices = options.devices,
          .data = options.data == BenchData::kSynthetic ? session::DataMode::kSynthetic : session::DataMode::kReal,
          .wants_validation = false,
          .loader_only = options.data == BenchData::kLoaderOnly,
          .global_batch = options.batch,
          .processes = options.processes,
          .device_datasets = options.data != BenchData::kLoaderOnly};
}

}  // namespace

std::string row_name(const BenchRow& row) {
  const std::string devices = short_name(row.devices);
  return row.processes == 1 ? devices : fmt::format("{} x {}", row.processes, devices);
}

std::string bench_estimate(const BenchRow& row, const BenchOptions& options, double step_seconds) {
  constexpr double kWorthALine = 20, kMinute = 60;
  const std::int64_t steps = options.warmup + options.repeats * options.steps;
  const double seconds = static_cast<double>(steps) * step_seconds;
  if (seconds < kWorthALine) return "";
  const std::string time =
      seconds < 2 * kMinute ? fmt::format("{:.0f} seconds", seconds) : fmt::format("{:.0f} minutes", seconds / kMinute);
  return fmt::format("{} batch {}: {} steps of about {:.3g} s, {} in all (--warmup, --repeats, --steps)", row_name(row),
                     row.global_batch, steps, step_seconds, time);
}

namespace {

/// A warmed-up session, its repeats, and their results.
class Measurement {
 public:
  Measurement(const experiment::Experiment& experiment, const BenchOptions& options)
      : options_(options),
        session_(for_bench(experiment, options), session_options(options)),
        run_(session_, options_) {
    row_.replicas = session_.world().ranks;
    row_.processes = session_.world().processes;
    row_.threads = session_.devices().threads;
    row_.devices = session_.devices();
    row_.device_lines = session_.device_lines();
    row_.global_batch = session_.global_batch();
    row_.micro_batches = session_.micro_batches();
    for (const auto& [phase, seconds] : session_.phases())
      if (phase == "open data") row_.open_data_seconds = seconds;
    run_.steps(1);
    row_.start_seconds = start_.seconds() - row_.open_data_seconds;
    if (options_.warmup > 1) {
      const std::string estimate = bench_estimate(row_, options_, run_.steps(1).seconds);
      if (!estimate.empty()) log::info(estimate);
      run_.steps(options_.warmup - 2);
    }
    row_.peak_bytes = session::peak_resident_bytes();
  }

  double repeat() {
    const Sample sample = run_.steps(options_.steps);
    const double per_step_ms = 1e3 / static_cast<double>(options_.steps);
    rate_.push_back(sample.examples / sample.seconds);
    step_.push_back(sample.seconds * per_step_ms);
    forward_backward_.push_back(sample.forward_backward * per_step_ms);
    comm_.push_back(sample.comm * per_step_ms);
    optimizer_.push_back(sample.optimizer * per_step_ms);
    wait_.push_back(sample.wait * per_step_ms);
    return rate_.back();
  }

  /// `split: auto` moves rows between the batches of a run, but a single batch stays as it is.
  void warn_about_even_split() const {
    if (session_.experiment().config.parallel.split.automatic && options_.data == BenchData::kSynthetic &&
        session_.world().is_first() && session_.world().ranks > 1)
      log::info("parallel.split: auto has no effect with synthetic data; use --data real");
  }

  /// `alone`: nothing else has allocated memory since the start.
  BenchRow finish(bool alone) {
    warn_about_even_split();
    row_.examples_per_second = median(rate_);
    row_.examples_per_second_min = *std::min_element(rate_.begin(), rate_.end());
    row_.examples_per_second_max = *std::max_element(rate_.begin(), rate_.end());
    row_.step_ms = median(step_);
    row_.forward_backward_ms = median(forward_backward_);
    row_.comm_exposed_ms = median(comm_);
    row_.optimizer_ms = median(optimizer_);
    row_.data_wait_ms = median(wait_);
    row_.workers = session_.train_loader().workers();
    if (options_.data == BenchData::kLoaderOnly) row_.loader_examples_per_second = row_.examples_per_second;
    if (options_.data == BenchData::kReal) row_.loader_examples_per_second = run_.loader_alone(options_.steps);
    if (alone) row_.peak_bytes = session::peak_resident_bytes();  // before memory rates are measured
    if (options_.layers && options_.data != BenchData::kLoaderOnly)
      profile_layers(session_, run_, row_, options_.steps);
    if (options_.data != BenchData::kLoaderOnly) measure_peak(session_, row_);
    if (session_.devices().on_gpus() && options_.data != BenchData::kLoaderOnly)
      row_.device_bytes = largest_replica(session_);
    return row_;
  }

 private:
  const Stopwatch start_;
  const BenchOptions options_;
  session::Session session_;
  Run run_;
  BenchRow row_;
  std::vector<double> rate_, step_, forward_backward_, comm_, optimizer_, wait_;  ///< one value per repeat
};

}  // namespace

BenchRow bench(const experiment::Experiment& experiment, const BenchOptions& options) {
  const Activity activity("measuring");
  const auto& shards = experiment.config.parallel.virtual_shards;
  const bool compares = shards && options.data != BenchData::kLoaderOnly;
  Measurement asked(experiment, options);
  std::optional<Measurement> without;
  if (compares) {
    experiment::Experiment other = experiment;
    other.config.parallel.virtual_shards.reset();
    without.emplace(other, options);
  }
  std::vector<double> ratios, rates;
  for (std::int64_t r = 0; r < options.repeats; ++r) {  // alternating, since other programs may use the machine
    const double rate = asked.repeat();
    if (!without) continue;
    rates.push_back(without->repeat());
    ratios.push_back(rate / rates.back());
  }
  BenchRow row = asked.finish(!compares);
  if (!compares) return row;
  row.virtual_shards = static_cast<int>(*shards);
  row.ratio_to_no_shards = median(ratios);
  row.examples_per_second_without_shards = median(rates);
  return row;
}

std::string shard_overhead(const BenchRow& row) {
  if (row.virtual_shards == 0) return "";
  return fmt::format("{} virtual shards: {:.2f} of the {} samples/s without", row.virtual_shards,
                     row.ratio_to_no_shards, rate_text(row.examples_per_second_without_shards));
}

namespace {

/// "; the network alone reaches 812 samples/s, the loader alone 301 (2 workers)".
std::string alone(const BenchRow& row, BenchData data) {
  const double computing_ms = row.step_ms - row.data_wait_ms;
  if (data != BenchData::kReal || computing_ms <= 0) return "";
  return fmt::format("; the network alone reaches {} samples/s, the loader alone {} ({})",
                     rate_text(static_cast<double>(row.global_batch) * 1e3 / computing_ms),
                     rate_text(row.loader_examples_per_second), counted(row.workers, "worker"));
}

/// The bottleneck of a step, by the largest share of its time.
std::string bound_by(const BenchRow& row) {
  const double wait = 100 * row.data_wait_ms / row.step_ms, comm = 100 * row.comm_exposed_ms / row.step_ms;
  if (wait > 20)
    return fmt::format("input-bound: {:.0f} % of a step waits for data; more data.loader.workers help", wait);
  if (comm > 20)
    return fmt::format(
        "bound by the all-reduce: {:.0f} % of a step waits for other replicas; a larger batch or fewer replicas help",
        comm);
  return fmt::format(
      "compute-bound: {:.0f} % of a step is forward and backward, {:.0f} % waits for data, {:.0f} % for other replicas",
      100 * row.forward_backward_ms / row.step_ms, wait, comm);
}

}  // namespace

std::string verdict(const BenchRow& row, BenchData data) {
  if (data == BenchData::kLoaderOnly)
    return fmt::format("the loader alone delivers {} samples/s, {} in each of {}", rate_text(row.examples_per_second),
                       rate_text(row.examples_per_second / std::max(1, row.workers)), counted(row.workers, "worker"));
  const std::string slowest = passes_far_from_bounds(row.passes);
  return bound_by(row) + alone(row, data) + (slowest.empty() ? "" : "; " + slowest);
}

namespace {

int threads_of_slot(const session::DeviceRequest& devices, int slot) {
  return devices.slot_threads.empty() ? devices.threads : devices.slot_threads[at(slot)];
}

}  // namespace

int threads_in_use(const session::DeviceRequest& devices) {
  const int of_replica = devices.slot_threads.empty()
                             ? devices.threads
                             : std::accumulate(devices.slot_threads.begin(), devices.slot_threads.end(), 0);
  return devices.replicas * of_replica;
}

std::vector<PassTime> pass_times(const runtime::Replica::Profile& profile, const StepFacts& facts,
                                 const backend::CpuLimits& limits) {
  std::vector<PassTime> all;
  const auto add = [&](std::string name, double ms, const PassWork& work, int slot) {
    if (ms <= 0 && work.operations <= 0 && work.bytes <= 0) return;
    const backend::CpuLimits share = limits.share(threads_of_slot(facts.devices, slot));
    all.push_back({.name = std::move(name), .ms = ms, .work = work, .bound = bound_of(work, share)});
  };
  const auto add_pass = [&](std::string name, const runtime::Replica::PassProfile& pass, int slot) {
    add(std::move(name), pass.seconds / facts.steps * 1e3,
        {.operations = pass.operations / facts.steps, .bytes = pass.bytes / facts.steps, .set = pass.set}, slot);
  };
  const auto add_flat = [&](std::string name, double ms, const plan::Traffic& traffic) {
    add(std::move(name), ms, {.bytes = traffic.bytes, .set = traffic.set}, 0);
  };
  for (std::size_t s = 0; s < profile.steps.size(); ++s) {
    const plan::Step& step = facts.plan.steps[s];
    add_pass(step.name + " forward", profile.steps[s].forward, step.slot);
    add_pass(step.name + " backward", profile.steps[s].backward, step.slot);
  }
  add_pass("losses and metrics", profile.losses, 0);
  add_pass("sums of gradients", profile.sums, 0);
  if (facts.processes == 1 && facts.devices.replicas > 1)
    add_flat("all-reduce", facts.waiting_ms, plan::all_reduce_traffic(facts.plan, facts.devices.replicas));
  add_flat("update", facts.update_ms, plan::update_traffic(facts.plan, facts.states));
  return all;
}

}  // namespace dptrain::bench
