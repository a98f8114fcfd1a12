#pragma once

// Replica: a plan bound to a device for each of its slots, most often to one: arenas, ops, forward, backward, update.
// Made and used on one thread, its own (ReplicaSet sees to that), which is the first slot's; the other slots have
// threads inside. Nothing is allocated after construction.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backend/device.h"
#include "core/batch_rows.h"
#include "graph/model.h"
#include "kernels/pixel_program.h"
#include "plan/memory.h"
#include "plan/plan.h"
#include "plan/traffic.h"
#include "replica/gradient_sink.h"
#include "replica/not_finite.h"
#include "replica/watchdog.h"

namespace dptrain::replica {

/// A data set from which a device makes its batches.
struct Feed {
  /// What one graph input is made of: sample i is row row(i) of `rows`.
  struct Input {
    kernels::PixelProgram program;
    DType type = DType::kU8;  ///< kU8 or kF32
    const std::byte* rows = nullptr;
    std::function<std::int64_t(std::int64_t)> row;
  };
  std::int64_t samples = 0;
  bool resident = false;  ///< all samples are kept in the device's memory; else they come with each slice
  std::vector<Input> inputs{};
};

/// What one optimizer step needs besides data.
struct StepInputs {
  std::int64_t number = 0;  ///< optimizer steps done before
  double learning_rate = 0;
  std::int64_t valid = 0;  ///< samples in the global batch
  /// On some replica something may run for the first time, which loads it: nobody waits for others on a device
  /// meanwhile.
  bool loads = false;
  /// Every replica has what it has of every full batch, the same rows and no others: a recording of one such step
  /// serves for all. The same for all replicas.
  bool whole = false;
};

/// Sums over samples, never means; parts are added in a fixed order (sum_steps.h). A masked loss of one Replica is that
/// of its valid positions; of a ReplicaSet it is the mean over those of the whole batch, times the samples.
struct StepSums {
  double loss = 0;  ///< the whole: every output's, times its weight
  /// As the plan's losses have them (LossStep::first_sum): an output's loss, then its metrics.
  std::vector<double> outputs{};
  std::int64_t samples = 0;
  double penalty = 0;  ///< regularizers' value before the step, times nothing; counted once (rank 0)
  /// Of a step: nothing was updated, because the loss or the gradients were not finite. Not told in mixed_float16,
  /// which searches its scale that way.
  bool left_out = false;
  double seconds = 0;        ///< that the replica itself computed, of a step; not added up
  std::uint32_t wishes = 0;  ///< what processes want of the run (ReplicaSet::set_wishes), or-ed
};

/// Whether a whole step is recorded and replayed as one launch (CUDA graph), `runtime.cuda_graphs`. kAuto: where the
/// device can and there is one replica, or a sink that records; kOn: an error where it cannot be done.
enum class Graphs { kAuto, kOn, kOff };

struct Options {
  std::int64_t rows = 0;                   ///< the most rows of a slice
  std::vector<std::int64_t> row_counts{};  ///< all that will occur, for Op::prepare
  config::Typed optimizer{};               ///< empty: inference only
  std::uint64_t seed = 0;
  int rank = 0;
  int replicas = 1;
  bool accumulate = false;  ///< more than one micro-batch per step: a second gradient arena is needed
  /// A power of two: the micro-batches of a step are so many shards, and gradients and sums are added in the order of
  /// kernels/sum_tree.h; an evaluation's slices are so many shards, each in as many pieces as the others. 1: in order.
  int shards = 1;
  Graphs graphs = Graphs::kAuto;
  bool goes_on = false;  ///< as UpdateContext::goes_on
  /// Makes the memory of the gradients; null: device.allocate().
  std::function<std::unique_ptr<backend::Buffer>(std::size_t bytes)> gradient_memory{};
  bool pairs = true;           ///< passes of neighbours go along (backend/piecewise.h); false gives the same bits
  Heartbeat* heart = nullptr;  ///< null: nobody looks
  /// Of the plan's slots behind the first; they outlive the replica.
  std::vector<backend::Device*> other_slots{};
};

/// Seconds of the caller since a step was last queued, by part, for the ledger. On a device that runs behind its caller
/// waiting for sums is nearly all of it and counts as forward and backward.
struct StepTimes {
  double forward_backward = 0, comm_exposed = 0, optimizer = 0;
};

class Replica {
 public:
  Replica(const plan::Plan& plan, backend::Device& device, GradientSink& sink, backend::Collective* collective,
          Options options);
  ~Replica();

  /// For batches that name it by `number`; before the first of them. Throws Error{kMemory} when it does not fit.
  void add_feed(int number, const Feed& feed);

  /// Host model to device arenas, and back. Statistics and frozen weights included; slots and averages separately.
  void push(const graph::Model& model);
  void pull(graph::Model& model);
  /// Optimizer state as flat host arrays in the plan's arena order: slots in order, then the average when use_ema.
  void push_state(const std::vector<std::vector<float>>& state);
  std::vector<std::vector<float>> pull_state();
  /// Also the account of the steps that were left out; its scale counts in mixed_float16 alone. Nothing without an
  /// optimizer. With found_inf 0 it ends the standstill after a step that was left out.
  void push_loss_scale(const kernels::LossScale& scale);
  std::optional<kernels::LossScale> pull_loss_scale();

  /// Steps that may be queued and not collected.
  static constexpr std::size_t kMostQueued = 3;
  /// Sets of buffers that batches are staged into, in turns.
  static constexpr int kSets = 2;
  /// Places in page-locked memory that a step's state comes from and its sums go to, in turns: as many as may be
  /// queued, and a whole number for each set, so that steps in turns meet no other pairs of the two.
  static constexpr std::size_t kPosts = 4;
  static_assert(kPosts >= kMostQueued && kPosts % kSets == 0);

  /// Queues one optimizer step over the given micro-batches (at least one; any may be empty). A device that runs behind
  /// its caller may still work on it afterwards: the slices' memory stays as it is until the step is collected.
  void queue_step(const std::vector<BatchRows>& micro_batches, const StepInputs& in);
  std::size_t queued() const;
  /// Whether the oldest of the queued steps is done. Like collect() also for another thread while the replica's own has
  /// nothing to do.
  bool done();
  /// Queues forward and loss in inference mode of slices whose sums are wanted together. Stands in the same queue as
  /// steps.
  void queue_evaluation(const std::vector<BatchRows>& slices);
  /// The sums of the oldest of the queued steps; waits for it.
  StepSums collect();
  /// queue_step() and collect().
  StepSums step(const std::vector<BatchRows>& micro_batches, const StepInputs& in);
  /// queue_evaluation() and collect(), with nothing queued before.
  StepSums evaluate(const BatchRows& slice);
  /// Forward in inference mode; copies the first of plan::predicted_tensors, [rows, shape...], to `outputs`: floats of
  /// any kind as float32, ids as int32, masks as bytes.
  void predict(const BatchRows& slice, const std::vector<void*>& outputs);
  /// Forward and backward in training mode without update or reduction: fills the gradient arena (dry run, tests).
  StepSums gradients(const std::vector<BatchRows>& micro_batches, std::int64_t valid, std::int64_t number);

  /// The first value of a step that is not finite, found by forward and backward once more; weights stay as they are.
  /// All replicas together, with nothing queued.
  std::optional<NotFinite> find_not_finite(const std::vector<BatchRows>& micro_batches, const StepInputs& in);

  /// Hash of [0, total) of the parameter arena.
  std::uint64_t parameter_hash();
  /// Host copy of the gradient arena and, behind it, of the tables' gradients, to tables_end; axes as the device has
  /// them: after step() the sums over all replicas.
  std::vector<float> pull_gradients();
  float* gradient_arena();  ///< device memory, [0, statistics_end)
  const float* parameter_arena();
  backend::Stream& stream();  ///< compute
  /// Waits for what is queued, whether it succeeds or not, without the stream's watcher, and gives recordings back:
  /// before replicas that share memory are destroyed, and before the sink's drain, which may wait for what they hold.
  void drain() noexcept;
  const StepTimes& times() const;
  bool replayed() const;                             ///< the last step was one launch of a recording
  const plan::MemoryPlan& memory() const;            ///< of the first slot
  std::vector<std::string> implementations() const;  ///< per plan step
  std::size_t bytes() const;                         ///< all arenas, of all slots

  /// What a pass has taken, summed over its calls since profiling was set on.
  struct PassProfile {
    double seconds = 0;
    double operations = 0;  ///< multiply-adds times two, of direct computation
    double bytes = 0;       ///< plan::Traffic
    double set = 0;         ///< of the largest call
    void add(const PassProfile& more);
  };
  struct StepProfile {
    PassProfile forward, backward;
  };
  /// For `bench --layers`.
  struct Profile {
    std::vector<StepProfile> steps{};  ///< of the plan
    PassProfile losses{};              ///< with their metrics
    PassProfile sums{};                ///< of gradients of tensors and weights that several steps give one to
    /// Known without profiling, too: of one sample in training, forward and backward.
    double operations_per_sample = 0;
  };
  void set_profiling(bool on);
  Profile profile() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain::replica
