#include "nn/normalization.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "backend/cpu/workspace.h"
#include "backend/device.h"
#include "backend/fusible_passes.h"
#include "backend/normalization_layers.h"
#include "backend/ops/activations.h"
#include "kernels/cpu/batch_norm.h"

namespace dptrain::backend::cpu {
namespace {

using kernels::cpu::BatchNormGradient;

/// Training normalizes by the moments of the batch, and writes share * moments as gradients of the moving statistics.
/// Inference and inference_mode normalize by the moving statistics. If synchronized, replicas gather positions and both
/// sums in double and add them in rank order, in forward and backward. An Add in the tail is part of both passes, and
/// backward leaves the gradient of the sum in dy.
///
/// An adjacent convolution may run the first pass of forward (sums over x) and the last one (y), see fusible_passes.h.
class BatchNormalizationOp final : public Op, private BatchNormLayer, private FusiblePasses {
 public:
  BatchNormalizationOp(const nn::BatchNormalizationSpec& spec, const OpContext& context, Device& device)
      : BatchNormLayer(spec, context, device), workspace_bytes_(workspace_bytes(context.rows, [&](std::int64_t rows) {
          return kFloatsOfDouble * kernels::cpu::batch_norm_workspace(rows * spatial_, channels_);
        })) {}

  plan::Need need() const override {
    const auto messages = static_cast<std::uint64_t>((replicas_ > 1 ? 1 + replicas_ : 1) * message_doubles());
    const auto vectors = static_cast<std::uint64_t>((kVectors + kSavedVectors) * channels_);
    return {.saved = static_cast<std::uint64_t>(kSavedVectors * channels_) * sizeof(float),
            .first_pass_scratch = workspace_bytes_ + messages * sizeof(double) + vectors * sizeof(float)};
  }

  bool runs_empty() const override { return replicas_ > 1; }
  std::string implementation() const override { return replicas_text(); }

  void forward(const OpArgs& a) override {
    Buffers buffers(*this, a);
    if (!a.training || inference_mode_) {
      if (a.rows == 0) return;
      const float* const mean = a.weights[weights_.moving_mean];
      const float* const variance = a.weights[weights_.moving_variance];
      if (a.training) write_statistics(a, mean, variance);
      normalize(a, buffers, mean, variance);
      return;
    }
    const std::int64_t positions = a.rows * spatial_;
    if (a.first_pass_done)
      kernels::cpu::batch_norm_add_up(positions, channels_, buffers.workspace, buffers.sums, buffers.products);
    else
      kernels::cpu::batch_norm_sums(a.in(), positions, channels_, buffers.workspace, buffers.sums, buffers.products);
    const std::int64_t total = add_replicas(a, buffers, positions);
    kernels::cpu::batch_norm_moments(buffers.sums, buffers.products, total, epsilon_, channels_, buffers.mean,
                                     buffers.variance, buffers.inv_std);
    normalize(a, buffers, buffers.mean, buffers.variance);
    if (unbiased_ && total > 1) {
      const float factor = static_cast<float>(total) / static_cast<float>(total - 1);
      for (std::int64_t c = 0; c < channels_; ++c) buffers.variance[c] *= factor;
    }
    write_statistics(a, buffers.mean, buffers.variance);
  }

  void backward(const OpArgs& a) override {
    Buffers buffers(*this, a);
    const float* mean = buffers.mean;
    if (inference_mode_) {
      mean = a.weights[weights_.moving_mean];
      for (std::int64_t c = 0; c < channels_; ++c)
        buffers.inv_std[c] = 1.0F / std::sqrt(a.weights[weights_.moving_variance][c] + epsilon_);
    }
    const bool by_output = masks_ && (adds_ || inference_mode_);
    BatchNormGradient gradient{.x = a.in(),
                               .dy = a.dy(),
                               .output = by_output ? a.out() : nullptr,
                               .mean = mean,
                               .inv_std = buffers.inv_std,
                               .scale = masks_ && !by_output ? buffers.scale : nullptr,
                               .offset = buffers.offset,
                               .ceiling = ceiling()};
    const std::int64_t positions = a.rows * spatial_;
    const bool wants_dx = a.dx() != nullptr, leaves_sum_gradient = adds_ && masks_;
    if ((wants_dx && !inference_mode_) || wants(a, weights_.gamma) || wants(a, weights_.beta)) {
      kernels::cpu::batch_norm_gradient_sums(gradient, positions, channels_, buffers.workspace, buffers.sums,
                                             buffers.products, leaves_sum_gradient ? a.dy() : nullptr);
      if (wants(a, weights_.gamma)) round(buffers.products, a.weight_gradients[weights_.gamma]);
      if (wants(a, weights_.beta)) round(buffers.sums, a.weight_gradients[weights_.beta]);
    } else if (leaves_sum_gradient) {
      activate_backward({}, DType::kF32, activation_, nullptr, a.out(), a.dy(), a.dy(), positions, channels_);
    }
    if (leaves_sum_gradient) gradient.output = nullptr;  // dy is masked
    if (!wants_dx) return;
    if (inference_mode_) {
      kernels::cpu::batch_norm_coefficients(mean, a.weights[weights_.moving_variance],
                                            weight_or_null(a, weights_.gamma), nullptr, epsilon_, channels_,
                                            buffers.scale, buffers.offset);
      kernels::cpu::batch_norm_gradient_frozen(a.dy(), gradient.output, ceiling(), buffers.scale, positions, channels_,
                                               a.dx());
      return;
    }
    const std::int64_t total = add_replicas(a, buffers, positions);
    round(buffers.sums, buffers.sum_dy);
    round(buffers.products, buffers.sum_dy_xhat);
    kernels::cpu::batch_norm_gradient_apply(gradient, weight_or_null(a, weights_.gamma), buffers.sum_dy,
                                            buffers.sum_dy_xhat, total, positions, channels_, a.dx());
  }

  FusiblePasses* fusible_passes() override { return this; }
  bool has_first_pass() const override { return !inference_mode_; }
  bool has_last_pass() const override { return !inference_mode_; }

  kernels::cpu::PiecePass first_pass(const OpArgs& a) override {
    first_ = {.x = a.in(), .positions = a.rows * spatial_, .workspace = Buffers(*this, a).workspace};
    const auto run = [](const void* pass, std::int64_t begin, std::int64_t end) {
      const auto& op = *static_cast<const BatchNormalizationOp*>(pass);
      kernels::cpu::batch_norm_add(op.first_.x, begin, end, op.first_.positions, op.channels_, op.first_.workspace);
    };
    return {.step = kernels::cpu::batch_norm_step(first_.positions, channels_), .pass = this, .run = run};
  }

  kernels::cpu::PiecePass last_pass() override {
    const auto run = [](const void* pass, std::int64_t begin, std::int64_t end) {
      const auto& op = *static_cast<const BatchNormalizationOp*>(pass);
      const LastPass& last = op.last_;
      kernels::cpu::batch_norm_apply_piece(last.x, last.affine, begin, end, op.channels_, last.y);
    };
    return {.pass = this, .run = run, .reads = {last_.x, last_.affine.addend}};
  }

 private:
  static constexpr std::int64_t kVectors = 3;       // vectors of Buffers that are never saved
  static constexpr std::int64_t kSavedVectors = 4;  // read by the last pass and by backward: saved in training
  static constexpr std::int64_t kFloatsOfDouble = sizeof(double) / sizeof(float);

  /// Operands of the passes that another op runs.
  struct FirstPass {
    const float* x = nullptr;
    std::int64_t positions = 0;
    double* workspace = nullptr;
  };
  struct LastPass {
    kernels::cpu::BatchNormAffine affine;
    const float* x;
    float* y;
  };

  /// Parts of OpArgs::saved and OpArgs::first_pass_scratch.
  struct Buffers {
    double* workspace;
    double *mine, *all;       // messages: positions, then the two sums of every channel
    double *sums, *products;  // parts of `mine`
    float *mean, *inv_std, *scale, *offset;
    float *variance, *sum_dy, *sum_dy_xhat;

    Buffers(const BatchNormalizationOp& op, const OpArgs& a)
        : workspace(static_cast<double*>(a.first_pass_scratch)),
          mine(workspace + op.workspace_bytes_ / sizeof(double)),
          all(mine + op.message_doubles()),
          sums(mine + 1),
          products(sums + op.channels_) {
      float* next = reinterpret_cast<float*>(all + (op.replicas_ > 1 ? op.replicas_ * op.message_doubles() : 0));
      for (float** vector : {&variance, &sum_dy, &sum_dy_xhat}) *vector = std::exchange(next, next + op.channels_);
      if (a.training) next = static_cast<float*>(a.saved);
      for (float** vector : {&mean, &inv_std, &scale, &offset}) *vector = std::exchange(next, next + op.channels_);
    }
  };

  float ceiling() const { return activation_ == nn::Activation::kRelu6 ? 6.0F : kernels::cpu::kNoCeiling; }
  std::int64_t message_doubles() const { return 1 + 2 * channels_; }

  static bool wants(const OpArgs& a, std::size_t index) { return gradient_or_null(a, index) != nullptr; }
  void round(const double* values, float* to) const {
    std::transform(values, values + channels_, to, [](double value) { return static_cast<float>(value); });
  }

  void normalize(const OpArgs& a, const Buffers& buffers, const float* mean, const float* variance) {
    kernels::cpu::batch_norm_coefficients(mean, variance, weight_or_null(a, weights_.gamma),
                                          weight_or_null(a, weights_.beta), epsilon_, channels_, buffers.scale,
                                          buffers.offset);
    const kernels::cpu::BatchNormAffine affine{.scale = buffers.scale,
                                               .offset = buffers.offset,
                                               .addend = adds_ ? a.in(1) : nullptr,
                                               .relu = activation_ != nn::Activation::kLinear,
                                               .ceiling = ceiling(),
                                               .non_temporal = a.training};
    last_ = {affine, a.in(), a.out()};
    if (!a.defers_last_pass) kernels::cpu::batch_norm_apply(a.in(), affine, a.rows * spatial_, channels_, a.out());
  }

  void write_statistics(const OpArgs& a, const float* mean, const float* variance) const {
    const auto share = static_cast<float>(a.share);
    for (const auto& [index, values] :
         {std::pair(weights_.moving_mean, mean), std::pair(weights_.moving_variance, variance)})
      if (wants(a, index))
        for (std::int64_t c = 0; c < channels_; ++c) a.weight_gradients[index][c] = share * values[c];
  }

  /// Replaces this replica's sums by those of all synchronized replicas; returns the total number of positions.
  std::int64_t add_replicas(const OpArgs& a, const Buffers& buffers, std::int64_t positions) const {
    if (replicas_ == 1) return positions;
    check_collective(a);
    const std::int64_t size = message_doubles();
    buffers.mine[0] = static_cast<double>(positions);
    a.collective->all_gather(buffers.mine, size * std::int64_t{sizeof(double)}, buffers.all, *a.stream);
    std::copy_n(buffers.all, size, buffers.mine);
    for (const double* part = buffers.all + size; part < buffers.all + replicas_ * size; part += size)
      std::transform(part, part + size, buffers.mine, buffers.mine, std::plus<>());
    return static_cast<std::int64_t>(buffers.mine[0]);
  }

  std::uint64_t workspace_bytes_;
  FirstPass first_;
  LastPass last_{};
};

const RegisteredOp kCpuBatchNormalization = op<nn::BatchNormalizationSpec, BatchNormalizationOp>(
    DeviceKind::kCpu, {.fuses = {fuses_add(), fuses_relu_after_add(true)}});

}  // namespace
}  // namespace dptrain::backend::cpu
