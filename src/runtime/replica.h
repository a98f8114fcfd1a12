#pragma once

// Replica: a plan bound to one device per slot (most plans have one slot): arenas, ops, forward, backward, update. Made
// and used on its own thread (see ReplicaSet), which is the thread of the primary slot. Secondary slots have internal
// threads. Arenas and ops are allocated at construction only; add_dataset() and begin_search() allocate more memory.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/device.h"
#include "core/batch_view.h"
#include "graph/model.h"
#include "kernels/pixel_program.h"
#include "plan/memory.h"
#include "plan/plan.h"
#include "plan/traffic.h"
#include "runtime/gradient_sink.h"
#include "runtime/watchdog.h"

namespace dptrain::runtime {

class ParameterArenas;

/// A data set whose batches a device makes.
struct DeviceDataset {
  /// The source of one graph input: sample i is row row(i) of `rows`.
  struct Input {
    kernels::PixelProgram program;
    DType type = DType::kU8;  ///< kU8 or kF32
    const std::byte* rows = nullptr;
    std::function<std::int64_t(std::int64_t)> row;
  };
  std::int64_t samples = 0;
  bool resident = false;  ///< all samples stay in device memory; otherwise they arrive with each slice
  std::vector<Input> inputs{};
};

/// Inputs of one optimizer step other than data.
struct StepInputs {
  std::int64_t number = 0;  ///< number of optimizer steps before this one
  double learning_rate = 0;
  std::int64_t global_samples = 0;  ///< number of samples in the global batch
  /// On some replica, something may run for the first time and be loaded. No device may then wait for other ranks.
  bool may_load_kernels = false;
  /// Every replica has its complete share of a full batch, the same rows each time, so one recording serves all such
  /// steps. Equal on all replicas.
  bool is_full_batch = false;
};

/// Sums over samples, added in a fixed order (shard_sums.h). For a masked loss, a Replica returns the sum over its
/// valid positions, a ReplicaSet the mean over all valid positions of the batch, times the samples.
struct StepSums {
  double loss = 0;  ///< total: losses of all outputs, times their weights
  /// In the order of the plan's losses (LossStep::first_sum): an output's loss, then its metrics.
  std::vector<double> outputs{};
  std::int64_t samples = 0;
  double penalty = 0;  ///< regularizers' value before the step, not multiplied by samples; counted once (rank 0)
  /// Whether the update was skipped because the loss or the gradients were not finite, in this step or, without
  /// continue_after_nonfinite, an earlier one. Always false in mixed_float16, where skipped steps search for the scale.
  bool update_skipped = false;
  double seconds = 0;                  ///< time in which the replica itself computed in a step; not summed
  std::uint32_t control_requests = 0;  ///< control requests of the processes (ReplicaSet::set_request_source), OR-ed
};

struct ReplicaOptions {
  std::int64_t rows = 0;                   ///< largest number of rows of a slice
  std::vector<std::int64_t> row_counts{};  ///< all numbers of rows that occur, for Op::prepare
  config::Typed optimizer{};               ///< empty: inference only
  std::uint64_t seed = 0;
  int rank = 0;
  int replicas = 1;
  bool accumulate = false;  ///< more than one micro-batch per step, which needs a second gradient arena
  /// A power of two. If more than 1, each micro-batch of a step is a shard, and an evaluation has the same number of
  /// slices for every shard. Gradients and sums are then added in the order of kernels/sum_tree.h.
  int shards = 1;
  backend::Graphs graphs = backend::Graphs::kAuto;
  bool continue_after_nonfinite = false;  ///< see UpdateContext::continue_after_nonfinite
  /// Allocates the memory of the gradients; null: device.allocate().
  std::function<std::unique_ptr<backend::Buffer>(std::size_t bytes)> gradient_memory{};
  bool fuse_passes = true;         ///< steps run passes of their neighbours (backend/fusible_passes.h); same results
  Heartbeat* heartbeat = nullptr;  ///< null: no watchdog
  /// Devices of the secondary slots; they outlive the replica.
  std::vector<backend::Device*> secondary_devices{};
};

/// Location of the first non-finite value of a step.
struct NotFinite {
  std::string layer{};                 ///< Step::name, or a graph input's; "" for the loss
  int node = -1;                       ///< in Graph::nodes; -1 for the loss
  std::string what{};                  ///< "input", "output", "loss", "gradient of its input", "gradient of kernel"
  std::int64_t count = 0, values = 0;  ///< number of non-finite values, and of values checked
  int moment = 0;                      ///< position in the plan's order, to compare several slots' results
  std::int64_t row = -1;               ///< first such row of the global batch; -1: not values of rows
};

/// Seconds on the calling thread since a step was last queued, by part, for the step log. On an asynchronous device
/// nearly all of it is waiting for sums, which counts as forward and backward.
struct StepTimes {
  double forward_backward = 0, comm_exposed = 0, optimizer = 0;
};

/// Setting for a run with `replicas` replicas: kAuto becomes kOff for several, because NCCL's calls in graphs are not
/// tested on several GPUs.
backend::Graphs graphs_for(backend::Graphs choice, int replicas);

class Replica {
 public:
  Replica(const plan::Plan& plan, backend::Device& device, GradientSink& sink, backend::Collective* collective,
          ReplicaOptions options);
  ~Replica();

  /// For batches that refer to it by `number`; called before the first of them. Throws Error{kMemory} if the data set
  /// does not fit.
  void add_dataset(int number, const DeviceDataset& dataset);

  /// Weights, gradients and optimizer state of the replica.
  ParameterArenas& arenas();

  /// Maximum number of queued steps that are not yet collected.
  static constexpr std::size_t kMaxQueued = 3;
  /// Number of alternating sets of buffers for batches.
  static constexpr int kSets = 2;
  /// Number of HostBuffers (page-locked, for the state and sums of a step) in a ring: at least one per queued step. A
  /// multiple of kSets, so that recorded steps always use each with the same set.
  static constexpr std::size_t kHostBuffers = 4;
  static_assert(kHostBuffers >= kMaxQueued && kHostBuffers % kSets == 0);

  /// Queues one optimizer step over the given micro-batches (at least one; any may be empty). An asynchronous device
  /// may still work on it afterwards, so the slices' memory must stay unchanged until the step is collected.
  void queue_step(const std::vector<BatchView>& micro_batches, const StepInputs& in);
  std::size_t queued() const;
  /// Whether the oldest queued step is done. Another thread may call this and collect() while the replica's own thread
  /// is idle.
  bool done();
  /// Queues forward and loss in inference mode of slices whose sums are returned together. Uses the same queue as
  /// steps.
  void queue_evaluation(const std::vector<BatchView>& slices);
  /// Waits for the oldest queued step or evaluation and returns its sums.
  StepSums collect();
  /// queue_step() and collect().
  StepSums step(const std::vector<BatchView>& micro_batches, const StepInputs& in);
  /// queue_evaluation() and collect(); nothing else may be queued.
  StepSums evaluate(const BatchView& slice);
  /// Forward in inference mode. Copies the first of plan::predicted_tensors, [rows, shape...], to `outputs`: floats of
  /// any type as float32, ids as int32, masks as bytes.
  void predict(const BatchView& slice, const std::vector<void*>& outputs);
  /// Forward and backward in training mode without update or reduction: fills the gradient arena (dry run, tests).
  StepSums gradients(const std::vector<BatchView>& micro_batches, std::int64_t global_samples, std::int64_t number);

  /// Allocate and free the memory of find_not_finite(). Nothing may be queued on any replica.
  void begin_search();
  void end_search();
  /// Finds the first non-finite value of a step by running forward and backward again; weights stay unchanged. All
  /// replicas call it together after begin_search(); nothing may be queued.
  std::optional<NotFinite> find_not_finite(const std::vector<BatchView>& micro_batches, const StepInputs& in);

  backend::Stream& stream();  ///< compute stream
  /// Waits for queued work, even if it fails and without the stream's watcher, and destroys recordings. Required before
  /// Connector::drain, and before replicas that share memory are destroyed.
  void drain() noexcept;
  const StepTimes& times() const;
  bool replayed() const;                             ///< whether the last step was one launch of a recording
  const plan::MemoryPlan& memory() const;            ///< of the primary slot
  std::vector<std::string> implementations() const;  ///< per plan step
  std::size_t bytes() const;                         ///< all arenas, of all slots

  /// Totals of a pass over its calls since profiling was turned on.
  struct PassProfile {
    double seconds = 0;
    double operations = 0;  ///< multiply-adds times two, of direct computation
    double bytes = 0;       ///< plan::Traffic
    double set = 0;         ///< working set of the largest call
    void add(const PassProfile& more);
  };
  struct StepProfile {
    PassProfile forward, backward;
  };
  /// For `bench --layers`.
  struct Profile {
    std::vector<StepProfile> steps{};  ///< per plan step
    PassProfile losses{};              ///< losses with their metrics
    PassProfile sums{};                ///< sums of gradients where several steps contribute to one tensor or weight
    /// Available without profiling, too: forward and backward of one sample in training.
    double operations_per_sample = 0;
  };
  void set_profiling(bool on);
  Profile profile() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dptrain::runtime
