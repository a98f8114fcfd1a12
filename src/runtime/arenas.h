#pragma once

// The flat arenas of one replica that outlive a step: parameters, gradients, optimizer state. Allocated once; used on
// the replica's thread. All use the plan's arena order (plan.h) and the axis order of the device; arguments and results
// use the axis order of Keras. No other class writes to the parameters, so version() reflects every change.

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backend/device.h"
#include "graph/model.h"
#include "plan/plan.h"

namespace dptrain::runtime {

struct ReplicaOptions;

class ParameterArenas {
 public:
  /// Without an optimizer, allocates only parameters. With micro-batches or shards, backward writes to a separate
  /// arena, from which each micro-batch is added to the gradients.
  ParameterArenas(const plan::Plan& plan, backend::Device& device, backend::Stream& stream,
                  const ReplicaOptions& options);

  /// Copy the host model to the arenas, and back, with statistics and frozen weights, without optimizer state.
  void push(const graph::Model& model);
  /// Sets all weights of the model. Weights that are not in the plan get their initial values.
  void pull(graph::Model& model);
  /// Optimizer state as flat host arrays in the plan's arena order: slots in order, then the average if use_ema.
  void push_state(const std::vector<std::vector<float>>& state);
  std::vector<std::vector<float>> pull_state();
  /// Queues the optimizer's update of the arenas, or a recording that contains an update().
  void update(backend::Update& update, const backend::UpdateArgs& args, const kernels::StepState* state);
  void replay(backend::Recording& recording);
  /// Counters of changes: version() of any parameter; frozen_version() of frozen weights, which updates do not change.
  std::uint64_t version() const { return pushes_ + updates_; }
  std::uint64_t frozen_version() const { return pushes_; }

  /// Includes the number of skipped steps; the scale has an effect in mixed_float16 only. Without an optimizer there is
  /// no loss scale. A pushed scale with found_inf 0 permits updates again after a skipped step.
  void push_loss_scale(const kernels::LossScale& scale);
  std::optional<kernels::LossScale> pull_loss_scale();
  /// Whether `account` counts steps skipped since the last call or push_loss_scale().
  bool take_new_skips(const kernels::LossScale& account) {
    return account.skipped != std::exchange(skipped_, account.skipped);
  }

  const float* parameters() const { return floats(parameters_); }
  float* gradients() const { return floats(gradients_); }  ///< [0, statistics_end); null without an optimizer
  /// The parameters as ops read them: in the compute type, or parameters() itself if that is float32.
  const void* compute() const { return compute_ ? compute_->data() : parameters(); }
  const kernels::LossScale* loss_scale() const { return update_buffers_.loss_scale; }  ///< null without an optimizer
  bool scales_loss() const { return plan_.compute == DType::kF16; }
  /// Where backward writes: the gradients, or the arena of one micro-batch.
  float* written() const { return written_ ? floats(written_) : gradients(); }
  bool accumulates() const { return written_ != nullptr; }
  std::size_t bytes() const;
  /// Hash of the parameters [0, total), including pending updates of tables.
  std::uint64_t hash();

  /// One per parameter, null for parameters that are not tables; empty without an optimizer.
  std::vector<backend::RowTable*> tables() const;
  /// Gradients of tables: clears them before a step, and sums them over the replicas.
  void clear_tables();
  void share_tables(backend::Collective* collective);
  /// Applies all pending updates to the rows of tables. Required before anything but ops reads parameters or state.
  void catch_up();
  /// [0, tables_end): the gradients, followed by the gradients of tables as whole arrays. After a step these are the
  /// sums over all replicas.
  std::vector<float> pull_gradients();

 private:
  using Buffer = std::unique_ptr<backend::Buffer>;

  static float* floats(const Buffer& buffer) { return buffer ? buffer->as<float>() : nullptr; }
  Buffer allocate(std::int64_t floats);
  Buffer gradient_memory(const ReplicaOptions& options);
  void make_tables(const config::Typed& optimizer);
  void draw(const plan::Parameter& p, const graph::Weight& weight, std::uint64_t seed);
  void send(const plan::Parameter& p, const std::vector<float>& values);
  void refresh_compute();
  template <class Reorder>
  void for_each_block(const Reorder& reorder, std::vector<float>& array) const;
  void check_state(const std::vector<std::vector<float>>& state) const;

  const plan::Plan& plan_;
  backend::Device& device_;
  backend::Stream& stream_;
  Buffer parameters_, gradients_, written_, compute_, loss_scale_;
  std::vector<Buffer> state_;                               ///< slots in order, then the average if use_ema
  std::vector<std::unique_ptr<backend::RowTable>> tables_;  ///< as update_buffers_.tables
  backend::UpdateBuffers update_buffers_;
  std::uint64_t pushes_ = 0, updates_ = 0;
  std::int64_t skipped_ = 0;  ///< LossScale::skipped of the last account
};

}  // namespace dptrain::runtime
