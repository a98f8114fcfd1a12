#pragma once

// StepBuffers: the data that a step exchanges between the host and the device of a slot: the state that kernels read,
// the sums of losses and metrics, the loss scale. Each queued step uses its own HostBuffers (page-locked memory), so
// that the device may run asynchronously. Owned by a StepRunner. Allocates at construction only.
//
//   buffers.write_state(state, host_index);
//   buffers.send_state(host_index);
//   ...                                    // queue the step
//   buffers.fetch_sums(host_index);
//   buffers.mark_sums(host_index);
//   StepSums sums = buffers.read_sums(host_index);

#include <memory>
#include <vector>

#include "backend/device.h"
#include "kernels/step_state.h"
#include "plan/plan.h"
#include "runtime/replica.h"

namespace dptrain::runtime {

class StepBuffers {
 public:
  /// `loss_scale`: in device memory; null: inference only. `shards`: number of shards with separate sums.
  StepBuffers(const plan::Plan& plan, backend::Device& device, backend::Stream& stream, int shards,
              const kernels::LossScale* loss_scale);

  /// Stores the state that kernels read in a step. Only while no queued work reads these host buffers.
  void write_state(const kernels::StepState& state, std::size_t host_index) {
    *host_buffers_[host_index].state->as<kernels::StepState>() = state;
  }
  /// Copies the state to the device. May be recorded.
  void send_state(std::size_t host_index);
  void send_state(const kernels::StepState& state, std::size_t host_index) {
    write_state(state, host_index), send_state(host_index);
  }
  /// Device memory from which kernels read the state.
  const kernels::StepState* state() const { return state_->as<kernels::StepState>(); }

  /// Sets the sums of all shards to zero. May be recorded.
  void clear_sums();
  /// From now on losses and metrics add to the sums of this shard.
  void select_shard(int shard) { shard_ = shard; }
  int shards() const { return shards_; }
  /// Device memory: the sums of a loss in a shard; default: the selected shard.
  double* sums_of(const plan::LossStep& loss, int shard) const {
    return sums_->as<double>() + static_cast<std::size_t>(shard) * sums_per_shard() + loss.first_sum;
  }
  double* sums_of(const plan::LossStep& loss) const { return sums_of(loss, shard_); }
  double* penalty() const { return sums_->as<double>() + plan_.sums(); }
  double* sums() const { return sums_->as<double>(); }

  /// Copies the sums since clear_sums() and the loss scale to the host buffers. May be recorded.
  void fetch_sums(std::size_t host_index);
  /// Records the event that has_sums() and read_sums() use. Called after fetch_sums().
  void mark_sums(std::size_t host_index) { host_buffers_[host_index].fetched->record(stream_); }
  /// Whether the sums have arrived. Any thread.
  bool has_sums(std::size_t host_index) { return host_buffers_[host_index].fetched->passed(); }
  /// Waits for the sums.
  StepSums read_sums(std::size_t host_index);
  /// The loss scale after the update. Valid after read_sums(), in training only.
  const kernels::LossScale& read_loss_scale(std::size_t host_index) const {
    return *host_buffers_[host_index].loss_scale->as<kernels::LossScale>();
  }

  std::size_t bytes() const { return sums_->bytes(); }  ///< size of the sums

 private:
  struct HostBuffers {
    std::unique_ptr<backend::Buffer> state, sums, loss_scale;
    std::unique_ptr<backend::Event> fetched;  ///< after the last use
  };

  /// Sums of a shard: those of the plan, then the penalty.
  std::size_t sums_per_shard() const { return plan_.sums() + 1; }

  const plan::Plan& plan_;
  backend::Device& device_;
  backend::Stream& stream_;
  const int shards_;
  int shard_ = 0;
  const kernels::LossScale* const loss_scale_;
  std::unique_ptr<backend::Buffer> state_, sums_;
  std::vector<HostBuffers> host_buffers_;
};

}  // namespace dptrain::runtime
