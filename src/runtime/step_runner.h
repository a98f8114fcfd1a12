#pragma once

// StepRunner: the plan's steps in one slot as ops of a device, and the arena of tensors they use. Runs forward, loss
// and backward of one micro-batch: stage, then begin, forward, backward, release. Owned by a Replica, used on the
// slot's thread. After construction only add_dataset(), set_observer() and the profiler allocate memory.
//
// A replica has one StepRunner per slot. All are called concurrently with the same functions and slices, because they
// wait for each other (slot_sync.h); penalty() and mark_gradients_not_finite() are for the primary slot only. That one,
// slot 0, has the state of the whole replica: the gradients, the sums that are read, and the counts of masks.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/fusible_passes.h"
#include "core/index.h"
#include "runtime/arenas.h"
#include "runtime/bindings.h"
#include "runtime/device_batches.h"
#include "runtime/layer_profiler.h"
#include "runtime/lifetime_check.h"
#include "runtime/mask_counts.h"
#include "runtime/replica.h"
#include "runtime/slot_sync.h"
#include "runtime/step_buffers.h"
#include "runtime/weight_mirror.h"

namespace dptrain::runtime {

/// The slot of a replica that a StepRunner runs.
struct SlotContext {
  int slot = 0;
  SlotSync* sync = nullptr;  ///< null: the only slot
};

class StepRunner {
 public:
  /// `arenas`: those of the primary slot.
  StepRunner(const plan::Plan& plan, backend::Device& device, backend::Stream& stream, backend::Collective* collective,
             const ParameterArenas& arenas, const ReplicaOptions& options, SlotContext context = {});
  StepRunner(const StepRunner&) = delete;
  StepRunner& operator=(const StepRunner&) = delete;

  void add_dataset(int number, const DeviceDataset& dataset) { batches_.add_dataset(number, dataset); }
  /// Queues the copy of a slice to a set of buffers, after the last use of that set. Overlaps with other work.
  void stage(const BatchView& slice, int set);
  /// Waits for all slots, refreshes the weights of a secondary slot, packs changed weights, and makes the training ops
  /// read the staged slice.
  void begin(const BatchView& slice, int set);
  /// No work queued later reads the slice. Ends the pass in all slots.
  void release(int set);

  /// With masked losses and several micro-batches: stages each one and runs the steps of its masks, so that forward()
  /// has the number of valid positions of the whole batch. Called before the first micro-batch.
  void count_ahead(const std::vector<BatchView>& micro_batches, const StepInputs& in,
                   const std::function<int()>& next_set);

  // The functions up to penalty() queue work on the stream. They do not wait for the device, but may wait for other
  // slots and replicas. All of the work may be recorded.
  /// Forward in training mode, loss and metrics; the loss's gradient is scaled by 1 / in.global_samples.
  void forward(const BatchView& slice, const StepInputs& in);
  /// Backward of the last forward. Calls `after_item` after each item of the plan. A slice without rows yields zero
  /// gradients.
  void backward(const BatchView& slice, const StepInputs& in,
                const std::function<void(const plan::BackwardItem&)>& after_item);
  /// Adds the regularizers' value of the current weights to the sums.
  void penalty(backend::Update& update, const float* weights);

  /// If the loss is not finite, sets the first gradient to NaN, so that all replicas skip the update. Queued after all
  /// work that writes that gradient.
  void mark_gradients_not_finite();

  /// Stages the slice to that set of buffers, then runs forward in inference mode, loss and metrics. Does not wait.
  void evaluate(const BatchView& slice, int set);
  /// Stages the slice and runs forward in inference mode, with the activations that a loss would apply itself. Copies
  /// the first of plan::predicted_tensors to host memory, one to each pointer. 16-bit floats become float32.
  void predict(const BatchView& slice, const std::vector<void*>& outputs);

  /// Called after every op of forward and backward; neighbouring steps then share no passes. Empty: no observer.
  void set_observer(std::function<void(std::size_t step, bool backward)> observer);

  const plan::Plan& plan() const { return plan_; }
  backend::Device& device() { return device_; }
  backend::Stream& stream() { return stream_; }
  int slot() const { return slot_; }
  const Bindings& training() const { return *training_; }  ///< tensors of forward() and backward(); only in training
  StepBuffers& buffers() { return *buffers_; }
  LayerProfiler& profiler() { return profiler_; }
  const LayerProfiler& profiler() const { return profiler_; }
  const plan::MemoryPlan& memory() const { return training_ ? training_memory_ : inference_memory_; }
  std::vector<std::string> implementations() const;
  std::size_t bytes() const;

 private:
  /// An op's packed copy of its weights.
  struct Packed {
    std::size_t step = 0;
    bool frozen = false;                   ///< all weights of the step are frozen
    std::optional<std::uint64_t> version;  ///< version of the arenas from which it was made
  };

  void make_ops(const ReplicaOptions& options);
  void prepare(std::int64_t rows);
  void plan_memory(const ParameterArenas& arenas, int shards);

  void copy_output(const plan::Tensor& tensor, const void* values, std::int64_t rows, void* to);
  /// Common beginning of all passes.
  void bind(const BatchView& slice, int set, plan::Mode mode);
  void mask_labels(std::size_t i, std::int64_t rows);
  /// Packs the weights of ops again if they have changed.
  void pack(const Bindings& bindings);
  void run_forward(const BatchView& slice, const StepInputs& in, const Bindings& bindings, bool training,
                   bool with_loss);
  void run_forward_step(std::size_t step, const BatchView& slice, const StepInputs& in, const Bindings& bindings,
                        bool training);
  bool is_in_this_slot(const plan::LossStep& loss) const { return loss.slot == slot_; }
  // For several slots.
  void publish(const Bindings& bindings, bool training);
  void run_copy(std::size_t step, const BatchView& slice, const Bindings& bindings, bool training);
  /// Copies a tensor of another slot to this one; with no rows only waits for it.
  void fetch(int tensor, void* to, std::int64_t rows, bool training);
  void signal(int tensor);
  void signal_losses(bool training);
  void signal_forward(std::size_t step, bool training);
  void signal_backward(std::size_t step);
  /// In the primary slot: fetches the sums of losses from secondary slots, once in a pass.
  void gather_sums();
  /// The mask of loss number `loss`, from the model or the labels; null: all positions count.
  const std::uint8_t* mask_of(std::size_t loss, const Bindings& bindings) const;
  void count_valid(const BatchView& slice);
  void run_losses(const BatchView& slice, const StepInputs& in, const Bindings& bindings, bool training);
  void run_item(const plan::BackwardItem& item, const BatchView& slice, const StepInputs& in);
  backend::OpArgs args(std::size_t step, const BatchView& slice, const StepInputs& in, const Bindings& bindings,
                       bool training);
  /// Adds the passes of neighbouring steps that the forward call of a step runs (backend/fusible_passes.h).
  void add_fused_passes(backend::OpArgs& call, std::size_t step, const BatchView& slice, const StepInputs& in,
                        const Bindings& bindings, bool training);
  /// Calls `call` for a step; adds the layer's name to errors.
  template <class Call>
  void call_op(std::size_t step, const char* what, const Call& call);
  /// As call_op(), for a forward or backward pass of the step, timed while profiling.
  template <class Call>
  void run_op(std::size_t step, std::int64_t rows, bool backward, const Call& call);
  bool runs_empty(int step) const { return step != plan::kAbsent && ops_[at(step)] && ops_[at(step)]->runs_empty(); }

  const plan::Plan& plan_;
  backend::Device& device_;
  backend::Stream& stream_;
  backend::Collective* collective_;
  const ParameterArenas& arenas_;
  const int slot_;
  SlotSync* const sync_;                                  ///< null: the only slot
  std::optional<WeightMirror> mirror_;                    ///< only in secondary slots
  bool sums_pending_ = false;                             ///< the sums of the running pass are not yet gathered
  const std::int64_t rows_;                               ///< largest number of rows of a slice
  float* const gradients_;                                ///< where backward writes
  float* const summed_gradients_;                         ///< gradients of all micro-batches
  std::vector<std::unique_ptr<backend::Op>> ops_;         ///< per step; null: copy, or step of another slot
  std::vector<std::unique_ptr<backend::LossOp>> losses_;  ///< per loss; null: of another slot; empty: prediction only
  const std::vector<int> mask_steps_;                     ///< result of plan::mask_steps
  const std::vector<int> predicted_;                      ///< result of plan::predicted_tensors
  std::vector<std::unique_ptr<backend::Buffer>> label_masks_;  ///< per loss; null: not made from the labels
  std::optional<MaskCounts> counts_;                           ///< only in the primary slot if masked_
  bool masked_ = false;                          ///< losses are means over valid positions in training, in some slot
  bool counted_ahead_ = false;                   ///< count_ahead() has run for the micro-batches of this step
  std::vector<plan::Need> needs_;                ///< per step
  backend::FusedPasses fused_passes_;            ///< neighbouring steps that share passes
  bool fusing_ = true;                           ///< false while count_ahead() runs single steps
  kernels::cpu::PiecePass prologue_, epilogue_;  ///< passes of the running step's neighbours
  plan::Need loss_need_;
  const kernels::LossScale* loss_scale_;  ///< null: inference only
  const bool scales_loss_;
  std::optional<StepBuffers> buffers_;
  std::vector<int> writer_;  ///< per tensor: the step that writes a parameter's gradient there, or kAbsent
  plan::MemoryPlan training_memory_, inference_memory_;
  LifetimeCheck lifetimes_;  ///< of training_memory_ and inference_memory_
  std::unique_ptr<backend::Buffer> tensors_, packed_memory_;
  std::vector<Packed> packed_;  ///< for the steps that need one
  std::unique_ptr<backend::Buffer>
      output_floats_;  ///< an output converted for the host; null if the compute type is float32
  DeviceBatches batches_;
  Heartbeat* const heartbeat_;  ///< null: no watchdog
  DeviceBatch batch_;           ///< the running slice
  std::optional<Bindings> training_, inference_;
  std::function<void(std::size_t step, bool backward)> observer_;
  LayerProfiler profiler_;
};

}  // namespace dptrain::runtime
