#pragma once

// Executor: the plan's steps in one slot as ops of a device, and the arena of tensors they work in. Runs forward, loss
// and backward of one micro-batch: stage, then begin, forward, backward, release. Owned by a Replica, used on the
// slot's thread; nothing is allocated after construction.
//
// Where a replica has several slots each has an Executor, and all are called alike with the same slices, side by side,
// for they wait for one another (crossings.h). What belongs to the replica, the gradients, the sums that are read, the
// counts of masks, is the home slot's, 0.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/piecewise.h"
#include "core/index.h"
#include "replica/arenas.h"
#include "replica/bindings.h"
#include "replica/crossings.h"
#include "replica/mask_counts.h"
#include "replica/not_finite.h"
#include "replica/replica.h"
#include "replica/staging.h"
#include "replica/weight_mirror.h"

namespace dptrain::replica {

/// Which slot of a replica an Executor runs.
struct SlotContext {
  int slot = 0;
  Crossings* crossings = nullptr;  ///< null: there is one slot
};

class Executor {
 public:
  /// `arenas`: the home slot's.
  Executor(const plan::Plan& plan, backend::Device& device, backend::Stream& stream, backend::Collective* collective,
           const ParameterArenas& arenas, const Options& options, SlotContext context = {});

  void add_feed(int number, const Feed& feed) { staging_.add_feed(number, feed); }
  /// Brings a slice to the device, behind what has used that set of buffers before and beside everything else.
  void stage(const BatchRows& slice, int set);
  /// The ops read the staged slice from here on, in training.
  void begin(const BatchRows& slice, int set);
  /// Nothing queued from here on reads the slice; the pass is over in all slots.
  void release(int set);

  /// Where losses have masks and there are several micro-batches: stages each in turn and runs what its masks depend
  /// on, so that forward() knows how many positions of the whole batch are valid. Before the first of them.
  void count_ahead(const std::vector<BatchRows>& micro_batches, const StepInputs& in,
                   const std::function<int()>& next_set);

  // What follows up to the penalty queues work on the stream and waits for nothing; where the device records, all of it
  // may be recorded.
  /// Forward in training mode, loss and metrics; the loss's gradient is scaled by 1 / in.valid.
  void forward(const BatchRows& slice, const StepInputs& in);
  /// Backward of the last forward. `after_item` is called when an item of the plan has run. A slice without rows leaves
  /// zeros in the gradients.
  void backward(const BatchRows& slice, const StepInputs& in,
                const std::function<void(const plan::BackwardItem&)>& after_item);
  void clear_sums();
  /// From here on losses and metrics add to the sums of this shard.
  void select_sums(int shard) { shard_ = shard; }
  /// The regularizers' value of the weights as they are now, into the sums.
  void penalty(backend::Update& update, const float* weights);

  /// Where the loss is not finite, the first gradient becomes NaN, so that the update is left out on all replicas.
  /// Behind all that writes it.
  void taint_gradients();

  // The host's side of a step, a post in turn for each step that may be queued, so that the device may run behind.
  /// What kernels read of a step lies in the post. While nothing queued reads it.
  void write_state(const kernels::StepState& state, std::size_t post) {
    *posts_[post].state->as<kernels::StepState>() = state;
  }
  /// And goes to the device. May be recorded.
  void send_state(std::size_t post);
  void send_state(const kernels::StepState& state, std::size_t post) { write_state(state, post), send_state(post); }
  /// Sums since clear_sums() go to the post. May be recorded.
  void fetch_sums(std::size_t post);
  /// They are on their way: what has_sums() and read_sums() wait for.
  void mark_sums(std::size_t post) { posts_[post].fetched->record(stream_); }
  /// Whether they have come. Any thread.
  bool has_sums(std::size_t post) { return posts_[post].fetched->passed(); }
  /// Waits for them.
  StepSums read_sums(std::size_t post);
  /// As it was behind the update; after read_sums(). In training only.
  const kernels::LossScale& read_loss_scale(std::size_t post) const {
    return *posts_[post].loss_scale->as<kernels::LossScale>();
  }

  /// Stages the slice to that set of buffers; forward in inference mode, loss and metrics. Waits for nothing.
  void evaluate(const BatchRows& slice, int set);
  /// Stages the slice; forward in inference mode, activations that the loss would take over included; the first of
  /// plan::predicted_tensors go to host memory, one to each pointer: floats of 16 bits as float32, all else as it is.
  void predict(const BatchRows& slice, const std::vector<void*>& outputs);

  /// Forward, loss and backward once more, with a look at all that is written; statistics and weights stay.
  std::optional<NotFinite> find_not_finite(const BatchRows& slice, const StepInputs& in, int set);

  const plan::MemoryPlan& memory() const { return training_ ? training_memory_ : inference_memory_; }
  std::vector<std::string> implementations() const;
  std::size_t bytes() const;
  void set_profiling(bool on);
  bool profiling() const { return profiling_; }
  const Replica::Profile& profile() const { return profile_; }
  /// Of one sample in training, of its slot.
  double operations_per_sample() const;
  /// Device memory that kernels read a step's numbers from.
  const kernels::StepState* state() const { return state_->as<kernels::StepState>(); }

 private:
  /// Page-locked memory, and a mark behind the last use of it.
  struct Post {
    std::unique_ptr<backend::Buffer> state, sums, loss_scale;
    std::unique_ptr<backend::Event> fetched;
  };
  /// An op's copy of its weights.
  struct Packed {
    std::size_t step = 0;
    bool frozen = false;                   ///< all weights of the step are
    std::optional<std::uint64_t> version;  ///< of the arenas, when it was made
  };

  void make_ops(const Options& options);
  void prepare(std::int64_t rows);
  void plan_memory(const ParameterArenas& arenas);

  void copy_output(const plan::Tensor& tensor, const void* values, std::int64_t rows, void* to);
  /// What every pass begins with.
  void bind(const BatchRows& slice, int set, Bindings& bindings);
  /// Ops whose weights have changed since copy them anew.
  void pack(const Bindings& bindings);
  void run_forward(const BatchRows& slice, const StepInputs& in, const Bindings& bindings, bool training,
                   bool with_loss);
  void forward_of(std::size_t step, const BatchRows& slice, const StepInputs& in, const Bindings& bindings,
                  bool training);
  bool is_mine(const plan::LossStep& loss) const { return loss.slot == slot_; }
  // With several slots.
  void publish(const Bindings& bindings, bool training);
  void run_copy(std::size_t step, const BatchRows& slice, const Bindings& bindings, bool training);
  /// A tensor of another slot to this one; of no rows it is only waited for.
  void fetch(int tensor, void* to, std::int64_t rows, bool training);
  void post(int tensor);
  void post_losses(bool training);
  void post_forward(std::size_t step, bool training);
  void post_backward(std::size_t step);
  /// At home: sums of losses in other slots, once in a pass.
  void gather_sums();
  void count_valid(const BatchRows& slice);
  void run_losses(const BatchRows& slice, const StepInputs& in, const Bindings& bindings, bool training);
  /// Of a shard: those of the plan, then the penalty.
  std::size_t sums_per_shard() const { return plan_.sums() + 1; }
  double* sums_of(const plan::LossStep& loss, int shard) const {
    return sums_->as<double>() + static_cast<std::size_t>(shard) * sums_per_shard() + loss.first_sum;
  }
  double* sums_of(const plan::LossStep& loss) const { return sums_of(loss, shard_); }
  void run_item(const plan::BackwardItem& item, const BatchRows& slice, const StepInputs& in);
  backend::OpArgs args(std::size_t step, const BatchRows& slice, const StepInputs& in, const Bindings& bindings,
                       bool training);
  /// Gives the forward call of a step its part in the passes of its neighbours.
  void pair(backend::OpArgs& call, std::size_t step, const BatchRows& slice, const StepInputs& in,
            const Bindings& bindings, bool training);
  std::optional<NotFinite> look(const void* values, DType type, std::int64_t n, const BatchRows* slice);
  std::optional<NotFinite> look_at_op(std::size_t step, bool backward, const BatchRows& slice);
  std::optional<NotFinite> look_at_loss(const plan::LossStep& loss, const BatchRows& slice);
  /// Calls `call` for a step; errors get the layer's name.
  template <class Call>
  void call_op(std::size_t step, const char* what, const Call& call);
  /// The same for one of its passes, timed when profiling.
  template <class Call>
  void run_op(std::size_t step, std::int64_t rows, bool backward, const Call& call);
  void note_pass(std::size_t step, std::int64_t rows, bool backward, double seconds);
  /// Another pass, timed when profiling.
  template <class Call>
  void run_pass(Replica::PassProfile& profile, const plan::Traffic& traffic, const Call& call);
  bool runs_empty(int step) const { return step != plan::kAbsent && ops_[at(step)] && ops_[at(step)]->runs_empty(); }

  const plan::Plan& plan_;
  backend::Device& device_;
  backend::Stream& stream_;
  backend::Collective* collective_;
  const ParameterArenas& arenas_;
  const int slot_;
  Crossings* const crossings_;                     ///< null: there is one slot
  std::optional<WeightMirror> mirror_;             ///< away from home
  bool sums_wanted_ = false;                       ///< those of the running pass's losses are not all at home yet
  const std::int64_t rows_;                        ///< the most rows of a slice
  const int shards_;                               ///< whose sums are kept apart
  int shard_ = 0;                                  ///< whose sums are added to
  float* const gradients_;                         ///< where backward writes
  float* const summed_gradients_;                  ///< of all micro-batches
  std::vector<std::unique_ptr<backend::Op>> ops_;  ///< per step; null: of another slot, or a copy
  std::vector<std::unique_ptr<backend::LossOp>> losses_;  ///< per loss of the plan, likewise; none: prediction only
  const std::vector<int> mask_steps_;                     ///< as plan::mask_steps
  const std::vector<int> predicted_;                      ///< as plan::predicted_tensors
  std::optional<MaskCounts> counts_;                      ///< in training at home, where losses have masks
  bool masked_ = false;                                   ///< as counts_, in every slot
  bool counted_ahead_ = false;                            ///< for the micro-batches of the running step
  std::vector<plan::Need> needs_;                         ///< per step
  backend::PiecePairs pairs_;                             ///< of one pass after the other
  bool pairing_ = true;                                   ///< nobody looks at what single steps have written
  kernels::cpu::PiecePass before_, after_;                ///< of the running step's neighbours
  plan::Need loss_need_;
  const kernels::LossScale* loss_scale_;  ///< null: no training
  const bool scales_loss_;
  std::unique_ptr<backend::Buffer> state_;
  std::vector<Post> posts_;
  std::vector<int> writer_;  ///< per tensor: the step that writes a parameter's gradient there, or kAbsent
  plan::MemoryPlan training_memory_, inference_memory_;
  std::unique_ptr<backend::Buffer> tensors_, packed_room_, sums_;
  std::vector<Packed> packed_;  ///< of the steps that want one
  std::unique_ptr<backend::Buffer>
      output_floats_;  ///< an output on its way to the host; null where it is float already
  Staging staging_;
  Heartbeat* const heart_;  ///< null: nobody looks
  Staging::Place place_;    ///< of the running slice
  std::optional<Bindings> training_, inference_;
  std::function<void(std::size_t step, bool backward)> watch_;  ///< called behind every op
  bool profiling_ = false;
  Replica::Profile profile_;
};

/// Of all slots of a replica together, the executors in their order.
Replica::Profile profile_of(const plan::Plan& plan, const std::vector<const Executor*>& slots);

}  // namespace dptrain::replica
