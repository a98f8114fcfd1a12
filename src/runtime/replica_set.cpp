#include "runtime/replica_set.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <unistd.h>

#include "core/error.h"
#include "core/format.h"
#include "core/index.h"
#include "core/log.h"
#include "core/text.h"
#include "core/trace.h"
#include "runtime/arenas.h"
#include "runtime/periodic_check.h"
#include "runtime/shard_sums.h"
#include "runtime/shares.h"
#include "runtime/worker_group.h"

namespace dptrain::runtime {
namespace {

// ExitGuard: limits the time that a failed process takes to end. GPU work that never ends, such as a hung collective,
// blocks every thread that waits for it, so these threads cannot be joined. Any thread.

class ExitGuard {
 public:
  ~ExitGuard() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  /// If this object still exists `seconds` later, logs `why`, flushes all output and ends the process with the exit
  /// code of ErrorKind::kDeadline. Later calls have no effect.
  void arm(double seconds, const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (thread_.joinable()) return;
    thread_ = std::thread([this, seconds, why] {
      std::unique_lock waiting(mutex_);
      if (wake_.wait_for(waiting, std::chrono::duration<double>(seconds), [this] { return over_; })) return;
      log::error(
          fmt::format("{}; {:g} s later the devices have not stopped, so the process ends without them: continue from "
                      "the last checkpoint with --resume",
                      why, seconds));
      std::fflush(nullptr);
      _exit(static_cast<int>(ErrorKind::kDeadline));
    });
  }

 private:
  std::mutex mutex_;  // guards the members below
  std::condition_variable wake_;
  bool over_ = false;
  std::thread thread_;
};

enum class Progress { kRunning, kDone, kFailed };

}  // namespace

struct ReplicaSet::Impl {
  /// The properties of a batch that determine how it is cut.
  struct BatchKey {
    std::int64_t positions = 0;
    std::int64_t number = -1;  ///< BatchView::number
  };
  using Devices = std::vector<std::unique_ptr<backend::Device>>;

  Impl(const plan::Plan& plan_, Devices devices_, Connector& connector_, SetOptions options_)
      : plan(plan_),
        devices(std::move(devices_)),
        secondary_devices(take_secondary_devices(devices, at(plan.slot_count()))),
        connector(connector_),
        options(std::move(options_)),
        world(options.world.value_or(World::single_process(static_cast<int>(devices.size())))),
        sums(devices.size()),
        replicas(devices.size()),
        workers(static_cast<int>(devices.size()),
                devices.front()->binds_threads() ? WorkerGroup::First::kOwnThread : WorkerGroup::First::kCaller,
                [this](int local_rank, const std::exception_ptr& failure) {
                  const Error why = as_error(failure).within(name(local_rank));
                  if (!devices[at(local_rank)]->reads_host_memory()) guard.arm(options.exit_seconds, why.what());
                  connector.abort(why);
                }) {
    if (!devices.front()->reads_host_memory()) {
      watchdog.emplace(
          names(), options.timeouts, [this](int local_rank) { return connector.waits(local_rank); },
          [this](const std::string& why) { connector.abort(Error(ErrorKind::kDeadline, why)); });
      periodic_check.emplace(watchdog->period(), [this] { watchdog->check(workers.busy()); });
    }
    if (options.weights.size() != at(world.ranks) || devices.size() > at(world.ranks))
      throw Error(ErrorKind::kInternal, fmt::format("{} weights for {} replicas, {} of them here",
                                                    options.weights.size(), world.ranks, devices.size()));
    if (options.virtual_shards > 0 && options.graphs == backend::Graphs::kOn)
      throw Error(ErrorKind::kUsage,
                  "runtime.cuda_graphs: on cannot be combined with parallel.virtual_shards, whose micro-batches are "
                  "not recorded; use auto");
    if (options.balance != nullptr && options.graphs == backend::Graphs::kOn)
      throw Error(ErrorKind::kUsage, "runtime.cuda_graphs: on cannot be combined with parallel.split: auto; use auto");
    shares.emplace(options, world);
    try {
      run("", [this](int local_rank) { make_replica(local_rank); });
    } catch (...) {
      drop_replicas();
      throw;
    }
  }

  ~Impl() { drop_replicas(); }

  /// Removes the devices of the secondary slots from `devices` and returns them.
  static Devices take_secondary_devices(Devices& devices, std::size_t slots) {
    Devices first, rest;
    if (devices.size() % slots != 0)
      throw Error(ErrorKind::kInternal, fmt::format("{} devices for replicas of {} slots", devices.size(), slots));
    for (std::size_t i = 0; i < devices.size(); ++i) (i % slots == 0 ? first : rest).push_back(std::move(devices[i]));
    devices = std::move(first);
    return rest;
  }

  /// Binds the caller's thread if it is the first replica's thread, because another set may have bound it since.
  void enter_first() {
    if (!devices.front()->binds_threads()) devices.front()->enter();
  }

  /// Destroys replicas on their own threads, once no queued work of a replica accesses memory of another.
  void drop_replicas() {
    try {
      enter_first();
    } catch (const Error&) {  // the failure has already been thrown
    }
    workers.run([this](int local_rank) {
      if (replicas[at(local_rank)]) replicas[at(local_rank)]->drain();
      connector.drain(local_rank);
    });
    workers.run([this](int local_rank) {
      connector.detach(local_rank);
      replicas[at(local_rank)].reset();
    });
  }

  void make_replica(int local_rank) {
    backend::Device& device = *devices[at(local_rank)];
    device.enter();
    trace::name_thread((local_rank == 0 ? "trainer and " : "") + name(local_rank));
    ReplicaOptions o{
        .optimizer = options.optimizer,
        .seed = options.seed,
        .rank = world.rank(local_rank),
        .replicas = world.ranks,
        .accumulate = options.accumulate_steps > 1,
        .shards = shares->shards(),
        .graphs = options.virtual_shards > 0 ? backend::Graphs::kOff : options.graphs,
        .continue_after_nonfinite = options.continue_after_nonfinite,
        .gradient_memory = [this, local_rank, &device](
                               std::size_t bytes) { return connector.gradient_memory(local_rank, device, bytes); },
        .heartbeat = watchdog ? &watchdog->heartbeat(local_rank) : nullptr};
    const std::size_t each = secondary_devices.size() / devices.size();
    for (std::size_t i = 0; i < each; ++i)
      o.secondary_devices.push_back(secondary_devices[at(local_rank) * each + i].get());
    o.row_counts = shares->row_counts(world.rank(local_rank));
    capacity[at(local_rank)] = o.rows = shares->max_rows(world.rank(local_rank));
    auto& replica = replicas[at(local_rank)];
    replica = std::make_unique<Replica>(plan, device, connector.sink(local_rank), connector.collective(local_rank),
                                        std::move(o));
    if (options.check_every > 0) replica->arenas().hash();  // allocates and loads kernels before the first collective
    if (replica->arenas().gradients() != nullptr)
      connector.attach(local_rank, device, replica->stream(), replica->arenas().gradients(), plan);
  }

  /// The share of a local rank in a training batch.
  std::vector<BatchView> slices(const BatchView& batch, int local_rank) const {
    return shares->slices(batch, world.rank(local_rank), options.accumulate_steps);
  }
  /// The share of a local rank in a batch without gradients.
  std::vector<BatchView> inference_slices(const BatchView& batch, int local_rank) const {
    const int rank = world.rank(local_rank);
    return shares->slices(batch, rank, shares->inference_pieces(batch, rank, capacity[at(local_rank)]));
  }

  /// Runs the command on every replica's thread (see ReplicaSet). `where`: ", step 412" or "".
  void run(const std::string& where, const WorkerGroup::Command& command) {
    enter_first();
    if (periodic_check) periodic_check->begin([&] { watchdog->begin(where); });
    std::exception_ptr failure;
    try {
      workers.run(command);
    } catch (...) {
      failure = std::current_exception();
    }
    std::optional<Error> late;
    if (periodic_check) periodic_check->end([&] { late = watchdog->end(); });
    if (late) throw Error(*late);
    if (failure) throw as_error(failure).within(name(workers.failed_worker()) + where);
  }

  void add_to_balance(const BatchKey& step, const std::vector<StepSums>& of_all) {
    std::vector<double> seconds;
    for (const StepSums& of_rank : of_all) seconds.push_back(of_rank.seconds);
    if (std::optional<NewShares> decided = options.balance->add(step.number, step.positions, seconds))
      new_shares = std::move(decided);
  }

  /// Sums of all processes. `step`: the batch if it is a training batch.
  StepSums total(const BatchKey& step) {
    sums.front().control_requests = local_requests ? local_requests() : 0;
    const std::vector<StepSums> of_all = connector.all_sums(sums);
    if (options.balance != nullptr && step.number >= 0) add_to_balance(step, of_all);
    StepSums sum = sum_steps(of_all);
    control_requests |= sum.control_requests;
    mean_over_valid(sum);
    return sum;
  }

  /// Replaces masked losses by the mean over all valid positions of the batch, times its samples.
  void mean_over_valid(StepSums& sum) const {
    if (sum.samples == 0 || std::ranges::none_of(plan.losses, &plan::LossStep::averages_valid)) return;
    sum.loss = 0;
    for (const plan::LossStep& loss : plan.losses) {
      double& own = sum.outputs[loss.first_sum];
      if (loss.averages_valid())
        own *= static_cast<double>(sum.samples) / plan::weight_of(loss, sum.outputs, sum.samples);
      sum.loss += loss.weight * own;
    }
  }

  /// State of the oldest queued step. A failure is thrown later, with the name of the replica.
  Progress progress() const {
    try {
      const bool done = std::ranges::all_of(replicas, [](const auto& replica) { return replica->done(); });
      return done ? Progress::kDone : Progress::kRunning;
    } catch (...) {
      return Progress::kFailed;
    }
  }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (int local_rank = 0; local_rank < static_cast<int>(devices.size()); ++local_rank)
      all.push_back(name(local_rank));
    return all;
  }
  std::string name(int local_rank) const {
    return fmt::format("replica {} ({})", world.rank(local_rank), devices[at(local_rank)]->name());
  }
  const plan::Plan& plan;
  Devices devices;                  ///< devices of the primary slots, one per local rank
  const Devices secondary_devices;  ///< devices of the secondary slots, replica by replica
  Connector& connector;
  const SetOptions options;
  const World world;
  std::vector<StepSums> sums;  ///< per local rank, of the last command
  std::function<std::uint32_t()> local_requests;
  std::uint32_t control_requests = 0;  ///< requests of all processes since take_control_requests()
  /// Queued and not yet collected.
  struct Queued {
    std::string where;  ///< ", step 412"; "" for an evaluation
    BatchKey step{};    ///< its batch
  };
  std::deque<Queued> queued;
  std::optional<NewShares> new_shares;  ///< for take_new_shares()
  std::vector<std::unique_ptr<Replica>> replicas;
  std::vector<std::int64_t> capacity = std::vector<std::int64_t>(replicas.size(), 1);  ///< rows per slice
  std::optional<Shares> shares;                 ///< set once the options are checked
  std::optional<Watchdog> watchdog;             ///< only for devices with a driver
  ExitGuard guard;                              ///< armed by the first failure, destroyed after all replicas
  WorkerGroup workers;                          ///< its threads use everything above
  std::optional<PeriodicCheck> periodic_check;  ///< as watchdog; last, because it reads the members above
};

ReplicaSet::ReplicaSet(const plan::Plan& plan, std::vector<std::unique_ptr<backend::Device>> devices,
                       Connector& connector, SetOptions options)
    : impl_(std::make_unique<Impl>(plan, std::move(devices), connector, std::move(options))) {}

ReplicaSet::~ReplicaSet() = default;

BatchView ReplicaSet::share(const BatchView& batch, int local_rank) const {
  return impl_->shares->slices(batch, impl_->world.rank(local_rank), 1).front();
}

StepTimes ReplicaSet::times() const {
  StepTimes slowest;
  for (const auto& replica : impl_->replicas) {
    const StepTimes& times = replica->times();
    slowest.forward_backward = std::max(slowest.forward_backward, times.forward_backward);
    slowest.comm_exposed = std::max(slowest.comm_exposed, times.comm_exposed);
    slowest.optimizer = std::max(slowest.optimizer, times.optimizer);
  }
  return slowest;
}

int ReplicaSet::size() const { return impl_->workers.size(); }
backend::Device& ReplicaSet::device(int local_rank) { return *impl_->devices[at(local_rank)]; }

void ReplicaSet::queue_step(const BatchView& batch, const StepInputs& in) {
  Impl& set = *impl_;
  StepInputs inputs = in;
  inputs.may_load_kernels = set.shares->may_load_kernels(batch);
  inputs.is_full_batch = set.shares->is_full_batch(batch, in.global_samples);
  const std::string where = fmt::format(", step {}", in.number);
  set.run(where,
          [&](int local_rank) { set.replicas[at(local_rank)]->queue_step(set.slices(batch, local_rank), inputs); });
  set.queued.push_back({where, {batch.positions().count, batch.number}});
  const std::int64_t every = set.options.check_every;
  if (every > 0 && (in.number + 1) % every == 0) check_equal(in.number);
}

std::size_t ReplicaSet::queued() const { return impl_->queued.size(); }

bool ReplicaSet::done() {
  // All processes must collect after the same steps, however fast their devices are, because the result is a common
  // decision.
  if (impl_->world.processes > 1 && !impl_->devices.front()->reads_host_memory()) return false;
  return impl_->progress() != Progress::kRunning;
}

StepSums ReplicaSet::collect() {
  Impl& set = *impl_;
  if (set.queued.empty()) throw Error(ErrorKind::kInternal, "no step is queued");
  const Impl::Queued oldest = set.queued.front();
  const auto collect_from = [&](int local_rank) {
    StepSums& sums = set.sums[at(local_rank)] = set.replicas[at(local_rank)]->collect();
    const StepTimes& times = set.replicas[at(local_rank)]->times();
    sums.seconds = times.forward_backward + times.optimizer;
  };
  if (set.progress() == Progress::kDone)  // without waking the replicas' threads
    for (int local_rank = 0; local_rank < size(); ++local_rank) collect_from(local_rank);
  else
    set.run(oldest.where, collect_from);
  set.queued.pop_front();
  if (set.watchdog) set.watchdog->warm();
  return set.total(oldest.step);
}

StepSums ReplicaSet::step(const BatchView& batch, const StepInputs& in) {
  queue_step(batch, in);
  return collect();
}

void ReplicaSet::queue_evaluation(const BatchView& batch) {
  Impl& set = *impl_;
  set.run("", [&](int local_rank) {
    set.replicas[at(local_rank)]->queue_evaluation(set.inference_slices(batch, local_rank));
  });
  set.queued.push_back({});
}

StepSums ReplicaSet::evaluate(const BatchView& batch) {
  if (!impl_->queued.empty())
    throw Error(ErrorKind::kInternal, fmt::format("{} steps were not collected", impl_->queued.size()));
  queue_evaluation(batch);
  return collect();
}

StepSums ReplicaSet::gradients(const BatchView& batch, std::int64_t global_samples, std::int64_t number) {
  Impl& set = *impl_;
  set.run("", [&](int local_rank) {
    set.sums[at(local_rank)] =
        set.replicas[at(local_rank)]->gradients(set.slices(batch, local_rank), global_samples, number);
  });
  return set.total({});
}

std::optional<NotFinite> ReplicaSet::find_not_finite(const BatchView& batch, const StepInputs& in) {
  Impl& set = *impl_;
  std::vector<std::optional<NotFinite>> found(set.replicas.size());
  std::vector<std::vector<float>> gradients(set.replicas.size());
  // No replica may allocate or free memory while collectives of another run, so all begin and end together.
  on_each([](int, Replica& replica) { replica.begin_search(); });
  set.run(fmt::format(", step {}", in.number), [&](int local_rank) {
    Replica& replica = *set.replicas[at(local_rank)];
    found[at(local_rank)] = replica.find_not_finite(set.slices(batch, local_rank), in);
    gradients[at(local_rank)] = replica.arenas().pull_gradients();
  });
  on_each([](int, Replica& replica) { replica.end_search(); });
  for (const auto& one : found)
    if (one) return one;
  for (const plan::Parameter& parameter : set.plan.parameters) {
    if (parameter.kind == plan::ParameterKind::kFrozen) continue;
    NotFinite sum{.layer = parameter.path, .what = "sum of the replicas' gradients", .values = parameter.elements()};
    for (std::int64_t i = parameter.offset; i < parameter.offset + parameter.elements(); ++i) {
      float all = 0;
      for (const std::vector<float>& one : gradients) all += one[static_cast<std::size_t>(i)];
      sum.count += std::isfinite(all) ? 0 : 1;
    }
    if (sum.count > 0) return sum;
  }
  return std::nullopt;
}

void ReplicaSet::predict(const BatchView& batch, const std::vector<void*>& outputs) {
  Impl& set = *impl_;
  const std::vector<int> tensors = plan::predicted_tensors(set.plan);
  set.run("", [&](int local_rank) {
    for (const BatchView& slice : set.inference_slices(batch, local_rank)) {
      std::vector<void*> places;
      for (std::size_t i = 0; i < outputs.size(); ++i)
        places.push_back(static_cast<std::byte*>(outputs[i]) +
                         static_cast<std::size_t>(slice.first_row - batch.first_row) *
                             plan::host_row_bytes(set.plan.tensors[at(tensors[i])]));
      set.replicas[at(local_rank)]->predict(slice, places);
    }
  });
}

void ReplicaSet::add_dataset(int number, const DeviceDataset& dataset) {
  on_each([&](int, Replica& replica) { replica.add_dataset(number, dataset); });
}

void ReplicaSet::push(const graph::Model& model) {
  on_each([&](int, Replica& replica) { replica.arenas().push(model); });
}

void ReplicaSet::push_state(const std::vector<std::vector<float>>& state) {
  on_each([&](int, Replica& replica) { replica.arenas().push_state(state); });
}

void ReplicaSet::pull(graph::Model& model) {
  on_each([&](int local_rank, Replica& replica) {
    if (local_rank == 0) replica.arenas().pull(model);
  });
}

std::vector<std::vector<float>> ReplicaSet::pull_state() {
  std::vector<std::vector<float>> state;
  on_each([&](int local_rank, Replica& replica) {
    if (local_rank == 0) state = replica.arenas().pull_state();
  });
  return state;
}

void ReplicaSet::push_loss_scale(const kernels::LossScale& scale) {
  on_each([&](int, Replica& replica) { replica.arenas().push_loss_scale(scale); });
}

std::optional<kernels::LossScale> ReplicaSet::pull_loss_scale() {
  std::optional<kernels::LossScale> scale;
  on_each([&](int local_rank, Replica& replica) {
    if (local_rank == 0) scale = replica.arenas().pull_loss_scale();
  });
  return scale;
}

void ReplicaSet::on_each(const std::function<void(int local_rank, Replica& replica)>& f) {
  impl_->run("", [&](int local_rank) { f(local_rank, *impl_->replicas[at(local_rank)]); });
}

void ReplicaSet::check_equal(std::int64_t step) {
  std::vector<std::uint64_t> hashes(impl_->replicas.size());
  on_each([&](int local_rank, Replica& replica) { hashes[at(local_rank)] = replica.arenas().hash(); });
  hashes = impl_->connector.all_numbers(std::move(hashes));
  const auto name = [&](int rank) {
    const int local_rank = rank - impl_->world.first_rank;
    return local_rank >= 0 && local_rank < size() ? impl_->name(local_rank) : fmt::format("replica {}", rank);
  };
  std::vector<std::string> different;
  for (int rank = 1; rank < static_cast<int>(hashes.size()); ++rank)
    if (hashes[at(rank)] != hashes[0]) different.push_back(name(rank));
  if (different.empty()) return;
  throw Error(ErrorKind::kDevice,
              fmt::format("step {}: the parameters of {} differ from those of {}; memory or a device is faulty, or an "
                          "operation is not deterministic; continue from the last checkpoint",
                          step, join(different, ", "), name(0)));
}

void ReplicaSet::set_request_source(std::function<std::uint32_t()> requests) {
  impl_->local_requests = std::move(requests);
}

std::uint32_t ReplicaSet::take_control_requests() { return std::exchange(impl_->control_requests, 0); }

std::optional<NewShares> ReplicaSet::take_new_shares() { return std::exchange(impl_->new_shares, std::nullopt); }

void ReplicaSet::set_fatal_error_handler(std::function<void(const Error& why)> fatal_error_handler) {
  if (impl_->watchdog) impl_->watchdog->set_fatal_error_handler(std::move(fatal_error_handler));
}

}  // namespace dptrain::runtime
