#pragma once

// ReplicaSet: all replicas of this process, with one long-lived thread per replica and one per further slot. Unless the
// devices bind their threads to cores, the first replica uses the thread that makes, calls and destroys the set. A call
// runs the same work on every replica and returns when all are done. The first exception of any replica aborts the
// communication of the others. It is rethrown with "replica 1 (cpu:1), step 412" before its message.
//
// A batch contains at least the rows of this process's replicas (share_of). Its positions determine the rows of each
// replica.
//
//   ReplicaSet set(plan, std::move(devices), *connector, options);
//   set.push(model);
//   set.queue_step(batch, {.number = steps_done, .learning_rate = 0.01, .global_samples = batch.rows});
//   const StepSums sums = set.collect();

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/batch_view.h"
#include "runtime/balance.h"
#include "runtime/batch_split.h"
#include "runtime/replica.h"
#include "runtime/watchdog.h"

namespace dptrain::runtime {

/// Connects the replicas; the distributed module implements it. One object serves all replicas.
class Connector {
 public:
  virtual ~Connector() = default;
  virtual GradientSink& sink(int local_rank) = 0;
  virtual backend::Collective* collective(int local_rank) = 0;
  /// Allocates the memory of the replica's gradients, accessible to its device. Called on the replica's thread.
  virtual std::unique_ptr<backend::Buffer> gradient_memory(int local_rank, backend::Device& device, std::size_t bytes) {
    return static_cast<void>(local_rank), device.allocate(bytes);
  }
  /// Called once on each replica's thread when its arenas exist, before the first step. Not called for replicas that
  /// only evaluate.
  virtual void attach(int local_rank, backend::Device& device, backend::Stream& compute, float* gradients,
                      const plan::Plan& plan) = 0;
  /// Called before replicas are destroyed, attached or not, each on its own thread. First drain(): afterwards no queued
  /// work of this replica accesses memory of others. After all drain() have returned, detach() frees resources of the
  /// replica's device.
  virtual void drain(int local_rank) noexcept { static_cast<void>(local_rank); }
  virtual void detach(int local_rank) noexcept { static_cast<void>(local_rank); }
  /// Whether the replica's thread is waiting for other ranks now. Any thread.
  virtual bool waits(int local_rank) const noexcept { return static_cast<void>(local_rank), false; }
  /// Returns the sums of a step of all ranks, in rank order, given those of this process. All processes call it, on the
  /// thread that collects.
  virtual std::vector<StepSums> all_sums(std::vector<StepSums> local_values) { return local_values; }
  /// As all_sums(), for one number per rank.
  virtual std::vector<std::uint64_t> all_numbers(std::vector<std::uint64_t> local_values) { return local_values; }
  /// Makes all threads that wait for another replica throw, in all processes. Any thread.
  virtual void abort(const Error& why) noexcept = 0;
};

struct SetOptions {
  std::optional<World> world{};   ///< all processes; empty: this process is the only one
  std::vector<double> weights{};  ///< one per rank: proportions of the shares
  /// If set, it cuts the batches that have a number; `weights` must be even and cut all other batches.
  std::shared_ptr<Balance> balance{};
  std::int64_t accumulate_steps = 1;
  /// A batch is cut into this number of shards, independent of the number of replicas. Each shard is computed as if by
  /// its own replica. Their sums have a fixed order (kernels/sum_tree.h), so 1, 2, 4, ... replicas give the same bits.
  /// Must be a power of two and a multiple of the number of ranks, with even weights and accumulate_steps 1. 0: off.
  int virtual_shards = 0;
  std::vector<std::int64_t> batch_sizes{};  ///< positions of all global batches that occur (full, last, evaluation)
  config::Typed optimizer{};
  std::uint64_t seed = 0;
  std::int64_t check_every = 0;  ///< steps between comparisons of the replicas' hashes; 0: never
  backend::Graphs graphs = backend::Graphs::kAuto;
  bool continue_after_nonfinite = false;  ///< see UpdateContext::continue_after_nonfinite
  double exit_seconds = 60;  ///< time for devices to stop after a failure, before the process is terminated
  Timeouts timeouts{};       ///< for devices with a driver: the longest time without progress of a thread
};

class ReplicaSet {
 public:
  /// `devices`: one for each slot of the plan, replica by replica.
  ReplicaSet(const plan::Plan& plan, std::vector<std::unique_ptr<backend::Device>> devices, Connector& connector,
             SetOptions options);
  ~ReplicaSet();

  int size() const;
  /// The device of the replica's primary slot, for calls that any thread may make: allocate_host.
  backend::Device& device(int local_rank);
  /// Adds the data set to every replica.
  void add_dataset(int number, const DeviceDataset& dataset);
  void push(const graph::Model& model);
  void push_state(const std::vector<std::vector<float>>& state);
  void pull(graph::Model& model);  ///< from local rank 0: all hold the same bits
  std::vector<std::vector<float>> pull_state();
  void push_loss_scale(const kernels::LossScale& scale);
  std::optional<kernels::LossScale> pull_loss_scale();  ///< from local rank 0

  /// Queues a step on every replica. Asynchronous devices may still work on it afterwards, so the batch must stay
  /// unchanged until the step is collected.
  void queue_step(const BatchView& batch, const StepInputs& in);
  /// Queues forward and loss in inference mode of a batch, after queued work; otherwise as queue_step().
  void queue_evaluation(const BatchView& batch);
  /// Number of steps queued and not collected: at most Replica::kMaxQueued.
  std::size_t queued() const;
  /// Whether collect() would return at once. Always false for several processes on asynchronous devices.
  bool done();
  /// Waits for the oldest queued step and returns its sums.
  StepSums collect();
  /// queue_step() and collect().
  StepSums step(const BatchView& batch, const StepInputs& in);
  /// queue_evaluation() and collect(); nothing else may be queued.
  StepSums evaluate(const BatchView& batch);
  /// Forward and backward of a batch on each replica, without reduction and update. Returns the sums. Nothing may be
  /// queued.
  StepSums gradients(const BatchView& batch, std::int64_t global_samples, std::int64_t number);
  /// Repeats this step with the current weights and returns the first non-finite value of the first replica that has
  /// one. If all gradients are finite, also checks their sum. Changes no weight. Nothing may be queued.
  std::optional<NotFinite> find_not_finite(const BatchView& batch, const StepInputs& in);
  /// Copies the first of plan::predicted_tensors, one to each pointer: [rows, shape...] of the batch's rows in this
  /// process, in order, as Replica::predict does. Rows of other processes stay unchanged.
  void predict(const BatchView& batch, const std::vector<void*>& outputs);
  void predict(const BatchView& batch, float* output) { predict(batch, std::vector<void*>{output}); }

  /// A replica's rows of the batch.
  BatchView share(const BatchView& batch, int local_rank) const;

  /// Times of the slowest replica since a step was last queued.
  StepTimes times() const;

  /// Runs f on every replica's own thread and waits.
  void on_each(const std::function<void(int local_rank, Replica& replica)>& f);
  /// Throws Error{kDevice} naming the replicas, of all processes, whose parameters differ from replica 0's.
  void check_equal(std::int64_t step);
  /// Sets the source of this process's control requests, as bits that the caller defines. Called each time sums are
  /// collected.
  void set_request_source(std::function<std::uint32_t()> requests);
  /// Control requests of all processes, OR-ed over the sums collected since the last call. Equal in all processes.
  std::uint32_t take_control_requests();
  /// New shares from the balance since the last call, if any. Equal in all processes.
  std::optional<NewShares> take_new_shares();
  /// Called before the process ends because a device's driver hangs. Runs on a separate thread while the thread that
  /// called the set is still blocked in it.
  void set_fatal_error_handler(std::function<void(const Error& why)> fatal_error_handler);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain::runtime
