#include "layers/batch_normalization.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "device/cpu/workspace.h"
#include "device/device.h"
#include "kernels/cpu/batch_norm.h"
#include "layers/activation.h"

namespace dptrain::device::cpu {
namespace {

using kernels::cpu::BatchNormGradient;

/// Training normalises by the batch's moments and hands share * moments to the all-reduce as the moving statistics'
/// "gradients"; inference (and inference_mode) by the moving statistics. Synchronised, the moments are those of all
/// replicas' rows: (rows, mean, sum of squared differences) are gathered and merged in rank order, in backward the two sums.
class BatchNormalizationOp final : public Op {
 public:
  BatchNormalizationOp(const layers::BatchNormalizationSpec& spec, const OpContext& context, Device& device)
      : channels_(context.input(0).back()),
        spatial_(context.input(0).elements() / channels_),
        epsilon_(static_cast<float>(spec.epsilon)),
        unbiased_(device.options().bn_unbiased_running_var),
        relu_(context.step.epilogue == layers::Activation::kRelu),
        relu_undone_(context.step.epilogue_undone),
        inference_mode_(context.step.inference_mode),
        replicas_(spec.synchronized && !inference_mode_ ? context.replicas : 1),
        has_backward_(context.step.has_backward),
        gamma_(spec.scale ? 0 : kNone),
        beta_(spec.center ? gamma_ + 1 : kNone),
        moving_mean_(int{spec.scale} + int{spec.center}),
        moving_variance_(moving_mean_ + 1),
        workspace_bytes_(workspace_bytes(context.rows, [&](std::int64_t rows) {
          return kernels::cpu::batch_norm_workspace(rows * spatial_, channels_);
        })) {}

  plan::Need need() const override {
    const auto vectors = static_cast<std::uint64_t>(kVectors * channels_ + (1 + replicas_) * message_floats());
    return {.saved = has_backward_ ? saved_bytes() : 0,
            .scratch = saved_bytes() + vectors * sizeof(float) + workspace_bytes_};
  }

  bool runs_empty() const override { return replicas_ > 1; }
  std::string implementation() const override {
    return replicas_ > 1 ? fmt::format("moments over {} replicas", replicas_) : "";
  }

  void forward(const OpArgs& a) override {
    Room room(*this, a);
    if (!a.training || inference_mode_) {
      if (a.rows == 0) return;
      const float* const mean = a.weights[moving_mean_];
      const float* const variance = a.weights[moving_variance_];
      if (a.training) write_statistics(a, mean, variance);
      normalize(a, room, mean, variance);
      return;
    }
    const std::int64_t positions = a.rows * spatial_;
    kernels::cpu::batch_norm_moments(a.inputs[0], positions, channels_, room.workspace, room.mean, room.m2);
    std::int64_t total = positions;
    if (replicas_ > 1) total = merge_replicas(a, room);
    room.saved->total = total;
    for (std::int64_t c = 0; c < channels_; ++c) {
      room.variance[c] = total > 0 ? room.m2[c] / static_cast<float>(total) : 0.0F;
      room.inv_std[c] = 1.0F / std::sqrt(room.variance[c] + epsilon_);
    }
    normalize(a, room, room.mean, room.variance);
    if (unbiased_ && total > 1)
      for (std::int64_t c = 0; c < channels_; ++c) room.variance[c] = room.m2[c] / static_cast<float>(total - 1);
    write_statistics(a, room.mean, room.variance);
  }

  void backward(const OpArgs& a) override {
    Room room(*this, a);
    const float* mean = room.mean;
    if (inference_mode_) {
      mean = a.weights[moving_mean_];
      for (std::int64_t c = 0; c < channels_; ++c)
        room.inv_std[c] = 1.0F / std::sqrt(a.weights[moving_variance_][c] + epsilon_);
    }
    const BatchNormGradient gradient{.x = a.inputs[0],
                                     .dy = a.output_gradient,
                                     .output = relu_ && !relu_undone_ ? a.output : nullptr,
                                     .mean = mean,
                                     .inv_std = room.inv_std};
    const std::int64_t positions = a.rows * spatial_;
    const bool wants_dx = a.input_gradients[0] != nullptr;
    if ((wants_dx && !inference_mode_) || wants(a, gamma_) || wants(a, beta_)) {
      kernels::cpu::batch_norm_gradient_sums(gradient, positions, channels_, room.workspace, room.sum_dy,
                                             room.sum_dy_xhat);
      copy_gradient(a, gamma_, room.sum_dy_xhat);
      copy_gradient(a, beta_, room.sum_dy);
    }
    if (!wants_dx) return;
    if (inference_mode_) {
      kernels::cpu::batch_norm_coefficients(mean, a.weights[moving_variance_], weight(a, gamma_), nullptr, epsilon_,
                                            channels_, room.scale, room.offset);
      kernels::cpu::batch_norm_gradient_frozen(a.output_gradient, gradient.output, room.scale, positions, channels_,
                                               a.input_gradients[0]);
      return;
    }
    if (replicas_ > 1) add_replicas(a, room);
    kernels::cpu::batch_norm_gradient_apply(gradient, weight(a, gamma_), room.sum_dy, room.sum_dy_xhat,
                                            room.saved->total, positions, channels_, a.input_gradients[0]);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  static constexpr std::int64_t kVectors = 6;  // of Room, in scratch

  /// In front of mean and inv_std; the three live from forward to backward.
  struct Saved {
    std::int64_t total;  ///< positions that the moments are over
    std::int64_t unused[7];
  };

  /// Where things lie in `saved` and `scratch`.
  struct Room {
    Saved* saved;
    float *mean, *inv_std;  // behind it
    float *m2, *variance, *scale, *offset, *sum_dy, *sum_dy_xhat;
    float *mine, *all;  // messages
    float* workspace;

    Room(const BatchNormalizationOp& op, const OpArgs& a) {
      const std::int64_t channels = op.channels_;
      float* next = static_cast<float*>(a.scratch);
      const auto take = [&next](std::int64_t floats) { return std::exchange(next, next + floats); };
      saved = reinterpret_cast<Saved*>(take(static_cast<std::int64_t>(op.saved_bytes() / sizeof(float))));
      for (float** vector : {&m2, &variance, &scale, &offset, &sum_dy, &sum_dy_xhat}) *vector = take(channels);
      mine = take(op.message_floats());
      all = take(op.replicas_ * op.message_floats());
      workspace = next;
      if (op.has_backward_ && a.training) saved = static_cast<Saved*>(a.saved);  // else nobody reads it again
      mean = reinterpret_cast<float*>(saved + 1);
      inv_std = mean + channels;
    }
  };

  std::uint64_t saved_bytes() const { return sizeof(Saved) + 2 * static_cast<std::uint64_t>(channels_) * sizeof(float); }
  std::int64_t message_floats() const { return replicas_ > 1 ? 1 + 2 * channels_ : 0; }

  const float* weight(const OpArgs& a, std::size_t index) const { return index == kNone ? nullptr : a.weights[index]; }
  static bool wants(const OpArgs& a, std::size_t index) {
    return index < a.weight_gradients.size() && a.weight_gradients[index] != nullptr;
  }
  void copy_gradient(const OpArgs& a, std::size_t index, const float* values) const {
    if (wants(a, index)) std::copy_n(values, channels_, a.weight_gradients[index]);
  }

  void normalize(const OpArgs& a, const Room& room, const float* mean, const float* variance) const {
    kernels::cpu::batch_norm_coefficients(mean, variance, weight(a, gamma_), weight(a, beta_), epsilon_, channels_,
                                          room.scale, room.offset);
    kernels::cpu::batch_norm_apply(a.inputs[0], room.scale, room.offset, a.rows * spatial_, channels_, relu_, a.output);
  }

  void write_statistics(const OpArgs& a, const float* mean, const float* variance) const {
    const auto share = static_cast<float>(a.share);
    for (const auto& [index, values] : {std::pair(moving_mean_, mean), std::pair(moving_variance_, variance)})
      if (wants(a, index))
        for (std::int64_t c = 0; c < channels_; ++c) a.weight_gradients[index][c] = share * values[c];
  }

  void gather(const OpArgs& a, const Room& room, std::int64_t floats) const {
    if (a.collective == nullptr || a.collective->size() != replicas_)
      throw Error(ErrorKind::kInternal, fmt::format("synchronised BatchNormalization was made for {} replicas, found {}",
                                                    replicas_, a.collective == nullptr ? 1 : a.collective->size()));
    a.collective->all_gather(room.mine, floats, room.all, *a.stream);
  }

  /// Replaces this replica's moments by those of all; returns the positions they are over.
  std::int64_t merge_replicas(const OpArgs& a, const Room& room) const {
    // Rows, not positions: a float holds them exactly.
    room.mine[0] = static_cast<float>(a.rows);
    std::copy_n(room.mean, channels_, room.mine + 1);
    std::copy_n(room.m2, channels_, room.mine + 1 + channels_);
    gather(a, room, message_floats());
    std::int64_t total = 0;
    std::fill_n(room.mean, channels_, 0.0F);
    std::fill_n(room.m2, channels_, 0.0F);
    for (int rank = 0; rank < replicas_; ++rank) {
      const float* const part = room.all + rank * message_floats();
      const std::int64_t counts[] = {total, static_cast<std::int64_t>(part[0]) * spatial_};
      const float* const means[] = {room.mean, part + 1};
      const float* const m2s[] = {room.m2, part + 1 + channels_};
      kernels::cpu::batch_norm_merge_moments(2, counts, means, m2s, channels_, room.mean, room.m2);
      total += counts[1];
    }
    return total;
  }

  /// Replaces this replica's sums by those over all.
  void add_replicas(const OpArgs& a, const Room& room) const {
    std::copy_n(room.sum_dy, channels_, room.mine);
    std::copy_n(room.sum_dy_xhat, channels_, room.mine + channels_);
    gather(a, room, 2 * channels_);
    for (std::int64_t c = 0; c < channels_; ++c) {
      double dy = 0, dy_xhat = 0;
      for (int rank = 0; rank < replicas_; ++rank) {
        dy += static_cast<double>(room.all[rank * 2 * channels_ + c]);
        dy_xhat += static_cast<double>(room.all[(rank * 2 + 1) * channels_ + c]);
      }
      room.sum_dy[c] = static_cast<float>(dy);
      room.sum_dy_xhat[c] = static_cast<float>(dy_xhat);
    }
  }

  std::int64_t channels_, spatial_;
  float epsilon_;
  bool unbiased_, relu_, relu_undone_, inference_mode_;
  int replicas_;  // that moments are put together over; 1: unsynchronised
  bool has_backward_;
  std::size_t gamma_, beta_, moving_mean_, moving_variance_;
  std::uint64_t workspace_bytes_;
};

const RegisteredOp kCpuBatchNormalization =
    op<layers::BatchNormalizationSpec, BatchNormalizationOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::device::cpu
