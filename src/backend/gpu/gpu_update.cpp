// The optimizer's pass over the flat arenas: the work common to all optimizers (kernels/cuda/optimizer.h), and the
// optimizer's op. Values that change per step are in StepState, so a recorded step can be replayed.

#include <algorithm>
#include <vector>

#include "backend/gpu/device_table.h"
#include "backend/gpu/gpu_device.h"
#include "backend/optimizer_op.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/loss_scale.h"
#include "kernels/cuda/optimizer.h"
#include "nn/optimizer.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// Frozen weights have no penalty, as in Keras.
std::vector<kernel::PenaltySegment> penalties_of(const plan::Plan& plan) {
  std::vector<kernel::PenaltySegment> all;
  for (const plan::Parameter& p : plan.parameters)
    if (p.kind == plan::ParameterKind::kTrainable && (p.penalty.l1 != 0 || p.penalty.l2 != 0))
      all.push_back({.offset = p.offset,
                     .length = p.elements(),
                     .l1 = static_cast<float>(p.penalty.l1),
                     .l2 = static_cast<float>(p.penalty.l2)});
  return all;
}

std::vector<kernel::StatisticSegment> statistics_of(const plan::Plan& plan) {
  std::vector<kernel::StatisticSegment> all;
  for (const plan::Parameter& p : plan.parameters)
    if (p.kind == plan::ParameterKind::kStatistic)
      all.push_back({.offset = p.offset, .length = p.elements(), .momentum = p.momentum});
  return all;
}

class GpuUpdate final : public Update {
 public:
  GpuUpdate(const UpdateContext& context, GpuDevice& device) : GpuUpdate(context, device, *device.make_stream(false)) {}

  void describe(const UpdateArgs& args, kernels::StepState& state) const override {
    Update::describe(args, state);
    op_->describe(args, state);
  }

  void run(const UpdateBuffers& b, const UpdateArgs& args, const kernels::StepState* state, Stream& stream) override {
    const Call call{.b = b, .at = device_.launch(stream), .state = {.step = state, .scale = b.loss_scale}};
    if (b.loss_scale != nullptr) unscale_and_find_infinite(call);
    if (!penalties_.empty()) kernel::add_penalty_gradient(call.at, penalties_.table(), b.weights, b.gradients);
    clip(call);
    op_->run({.buffers = b, .n = plan_.trainable_end, .update = args, .state = state, .stream = stream});
    update_statistics(call);
    if (common_.use_ema)
      kernel::ema_update(call.at, common_.ema_momentum, common_.ema_overwrite_frequency.value_or(0), call.state,
                         plan_.trainable_end, weights(call), b.average);
    if (b.loss_scale == nullptr) return;
    if (scales())
      kernel::update_loss_scale(call.at, b.loss_scale);
    else if (continue_after_nonfinite_)
      kernel::count_skipped(call.at, b.loss_scale);
  }

  void penalty(const float* weights, double* value, Stream& stream) override {
    if (penalties_.empty()) return device_.fill(reinterpret_cast<float*>(value), 2, 0, stream);  // 0.0 in double
    kernel::penalty_value(device_.launch(stream), penalties_.table(), weights, workspace_->as<double>(), value);
  }

 private:
  struct Call {
    const UpdateBuffers& b;
    kernel::Launch at;
    kernel::UpdateState state;
  };

  GpuUpdate(const UpdateContext& context, GpuDevice& device, Stream& stream)
      : device_(device),
        plan_(context.plan),
        optimizer_(context.optimizer),
        common_(nn::common(optimizer_)),
        continue_after_nonfinite_(context.continue_after_nonfinite),
        penalties_(penalties_of(plan_), device, stream),
        statistics_(statistics_of(plan_), device, stream),
        clipped_(common_.clipnorm ? trainable_of(plan_) : std::vector<kernel::Segment>{}, device, stream),
        workspace_(device.allocate(static_cast<std::size_t>(workspace_doubles()) * sizeof(double))),
        op_(make_optimizer_op(context, device)) {
    stream.synchronize();
  }

  std::int64_t workspace_doubles() const {
    return std::max({kernel::norm_workspace(), kernel::segments_workspace(penalties_.table().count),
                     kernel::segments_workspace(clipped_.table().count)});
  }

  bool scales() const { return plan_.compute == DType::kF16; }

  /// Unscales gradients and searches them for infinities. Statistics are computed in forward, which is not scaled.
  void unscale_and_find_infinite(const Call& call) const {
    float* const g = call.b.gradients;
    const std::int64_t unscaled = scales() ? plan_.trainable_end : 0;
    if (scales()) kernel::unscale(call.at, call.b.loss_scale, plan_.trainable_end, g);
    kernel::find_infinite(call.at, g + unscaled, plan_.statistics_end - unscaled, call.b.loss_scale);
  }

  kernel::UpdatedWeights weights(const Call& call) const {
    return {.w = call.b.weights, .compute = call.b.compute, .compute_type = plan_.compute};
  }

  void clip(const Call& call) const {
    float* const g = call.b.gradients;
    auto* const workspace = workspace_->as<double>();
    if (common_.clipvalue)
      kernel::clip_by_value(call.at, static_cast<float>(*common_.clipvalue), plan_.trainable_end, g);
    if (common_.global_clipnorm)
      kernel::clip_by_global_norm(call.at, *common_.global_clipnorm, plan_.trainable_end, workspace, g);
    if (common_.clipnorm) kernel::clip_by_norm(call.at, *common_.clipnorm, clipped_.table(), workspace, g);
  }

  void update_statistics(const Call& call) const {
    if (statistics_.empty()) return;
    const UpdateBuffers& b = call.b;
    kernel::update_statistics(call.at, statistics_.table(), b.loss_scale, b.gradients, b.weights);
    if (b.compute == nullptr) return;
    const std::int64_t begin = plan_.trainable_end;
    auto* const copy = static_cast<std::byte*>(b.compute) + static_cast<std::size_t>(begin) * size_of(plan_.compute);
    kernel::cast_from_float(call.at, b.weights + begin, plan_.compute, copy, plan_.statistics_end - begin);
  }

  GpuDevice& device_;
  const plan::Plan& plan_;
  config::Typed optimizer_;
  const nn::OptimizerCommon& common_;
  const bool continue_after_nonfinite_;
  DeviceTable<kernel::PenaltySegment> penalties_;
  DeviceTable<kernel::StatisticSegment> statistics_;
  DeviceTable<kernel::Segment> clipped_;
  std::unique_ptr<Buffer> workspace_;
  std::unique_ptr<OptimizerOp> op_;
};

}  // namespace

std::unique_ptr<Update> make_gpu_update(const UpdateContext& context, GpuDevice& device) {
  return std::make_unique<GpuUpdate>(context, device);
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
