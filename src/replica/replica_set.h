#pragma once

// ReplicaSet: all replicas of this process, one thread each for life (and one more for each further slot): the first
// one's is the thread that makes the set, calls it and ends it, the trainer's. A call hands the same work to every
// replica and returns when all are done. The first exception of any replica aborts the others' communication and is
// rethrown with "replica 1 (cpu:1), step 412" before its message.
//
// A batch has at least the rows of this process's replicas (share_of); which each gets follows from its positions.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/batch_rows.h"
#include "replica/balance.h"
#include "replica/cut.h"
#include "replica/replica.h"
#include "replica/watchdog.h"

namespace dptrain::replica {

/// Makes what connects the replicas; the reduce room has the implementations. One object serves all replicas.
class Connector {
 public:
  virtual ~Connector() = default;
  virtual GradientSink& sink(int lane) = 0;
  virtual backend::Collective* collective(int lane) = 0;
  /// Where the lane's gradients will lie: memory of its device, from wherever the connector wants it. On the replica's
  /// thread.
  virtual std::unique_ptr<backend::Buffer> gradient_memory(int lane, backend::Device& device, std::size_t bytes) {
    return static_cast<void>(lane), device.allocate(bytes);
  }
  /// Called once on each replica's thread when its arenas exist; before the first step. Not called for replicas that
  /// only evaluate.
  virtual void attach(int lane, backend::Device& device, backend::Stream& compute, float* gradients,
                      const plan::Plan& plan) = 0;
  /// At the end of replicas, attached or not, each on its thread: first drain(), after which nothing that was queued
  /// for this lane touches anybody's memory, then, when all have done so, detach(), which gives back what belongs to
  /// the lane's device.
  virtual void drain(int lane) noexcept { static_cast<void>(lane); }
  virtual void detach(int lane) noexcept { static_cast<void>(lane); }
  /// Whether the lane's thread is waiting for other ranks at this moment. Any thread.
  virtual bool waits(int lane) const noexcept { return static_cast<void>(lane), false; }
  /// The sums of a step of all ranks, in their order, from those of this process; on the thread that collects, in all
  /// processes alike.
  virtual std::vector<StepSums> all_sums(std::vector<StepSums> of_lanes) { return of_lanes; }
  /// The same of one number of each lane.
  virtual std::vector<std::uint64_t> all_numbers(std::vector<std::uint64_t> of_lanes) { return of_lanes; }
  /// Wakes everybody who waits for a replica that will not come, in all processes; they throw. Any thread.
  virtual void abort(const Error& why) noexcept = 0;
};

struct SetOptions {
  std::optional<World> world{};   ///< whose lanes the devices are; none: there is this process alone
  std::vector<double> weights{};  ///< one per rank, for the shares
  /// Where it is set, it cuts the batches that have a number, and `weights` are even and cut all others.
  std::shared_ptr<Balance> balance{};
  std::int64_t accumulate_steps = 1;
  /// A batch is cut into so many shards whatever the number of replicas, and each is what a replica of its own would
  /// be; the sums over them have a fixed order (kernels/sum_tree.h), so that 1, 2, 4, ... replicas give the same bits.
  /// A power of two that the number of ranks divides; then weights are even and accumulate_steps is 1. 0: off.
  int virtual_shards = 0;
  std::vector<std::int64_t>
      batch_sizes{};  ///< positions of all global batches that will occur (full, last, evaluation)
  config::Typed optimizer{};
  std::uint64_t seed = 0;
  std::int64_t check_every = 0;  ///< steps between comparisons of the replicas' hashes; 0: never
  Graphs graphs = Graphs::kAuto;
  bool goes_on = false;      ///< after a step that was left out; as UpdateContext::goes_on
  double exit_seconds = 60;  ///< that devices get to stop in after a failure; then the process ends without them
  Patience patience{};       ///< with devices that have a driver: how long a thread may stand still
};

class ReplicaSet {
 public:
  /// `devices`: one for each slot of the plan, replica by replica.
  ReplicaSet(const plan::Plan& plan, std::vector<std::unique_ptr<backend::Device>> devices, Connector& connector,
             SetOptions options);
  ~ReplicaSet();

  int size() const;
  /// Its first slot's; for what any thread may call: allocate_host.
  backend::Device& device(int lane);
  /// Every replica takes the feed in.
  void add_feed(int number, const Feed& feed);
  void push(const graph::Model& model);
  void push_state(const std::vector<std::vector<float>>& state);
  void pull(graph::Model& model);  ///< from lane 0: all hold the same bits
  std::vector<std::vector<float>> pull_state();
  void push_loss_scale(const kernels::LossScale& scale);
  std::optional<kernels::LossScale> pull_loss_scale();  ///< from lane 0

  /// Queues a step on every replica; on devices that run behind their caller it may not be done when this returns, and
  /// the batch stays as it is until the step is collected.
  void queue_step(const BatchRows& batch, const StepInputs& in);
  /// Queues forward and loss in inference mode of a batch, behind what is queued already; else as queue_step().
  void queue_evaluation(const BatchRows& batch);
  /// Queued and not collected: at most Replica::kMostQueued.
  std::size_t queued() const;
  /// Whether collect() would not wait; of several processes on devices that run behind their caller: never.
  bool done();
  /// The sums of the oldest queued step; waits for it.
  StepSums collect();
  /// Both at once.
  StepSums step(const BatchRows& batch, const StepInputs& in);
  /// queue_evaluation() and collect(), with nothing queued before.
  StepSums evaluate(const BatchRows& batch);
  /// Forward and backward of a batch without update, each replica on its own; its sums. With nothing queued.
  StepSums gradients(const BatchRows& batch, std::int64_t valid, std::int64_t number);
  /// The first value that is not finite, of the first replica that has one, when this step is done again from the
  /// weights as they are; or in the sum of gradients, each finite. Changes no weight. With nothing queued.
  std::optional<NotFinite> find_not_finite(const BatchRows& batch, const StepInputs& in);
  /// The first of plan::predicted_tensors, one to each pointer: [rows, shape...] of the batch's rows here, in order, as
  /// Replica::predict gives them; those of other processes' replicas stay as they are.
  void predict(const BatchRows& batch, const std::vector<void*>& outputs);
  void predict(const BatchRows& batch, float* output) { predict(batch, std::vector<void*>{output}); }

  /// A replica's rows of the batch.
  BatchRows share(const BatchRows& batch, int lane) const;

  /// Since a step was last queued: the slowest replica's.
  StepTimes times() const;

  /// Runs f on every replica's own thread and waits.
  void on_each(const std::function<void(int lane, Replica& replica)>& f);
  /// Throws Error{kDevice} naming the replicas, of all processes, whose parameters differ from replica 0's.
  void check_equal(std::int64_t step);
  /// What this process wants of the run, in bits of the caller's own: asked each time sums are collected.
  void set_wishes(std::function<std::uint32_t()> wishes);
  /// What any process has wanted in the sums that were collected since the last call; the same in all processes.
  std::uint32_t take_wishes();
  /// What the balance has decided since the last call, the same in all processes.
  std::optional<NewShares> take_new_shares();
  /// Called before the process ends because a device's driver does not answer: on a thread of its own, while the one
  /// that called the set stands still in it.
  void set_last_words(std::function<void(const Error& why)> last_words);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain::replica
