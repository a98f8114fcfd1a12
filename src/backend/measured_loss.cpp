#include "backend/measured_loss.h"

#include <algorithm>
#include <vector>

#include "backend/metric_op.h"

namespace dptrain::backend {
namespace {

/// Alignment of the parts of scratch.
constexpr std::uint64_t kScratchAlignBytes = 64;
/// A hit is a byte on CPUs and an int32 on GPUs.
constexpr std::uint64_t kMaxHitBytes = 4;

std::uint64_t aligned_bytes(std::uint64_t bytes) {
  return (bytes + kScratchAlignBytes - 1) / kScratchAlignBytes * kScratchAlignBytes;
}

class MeasuredLoss final : public LossOp {
 public:
  MeasuredLoss(const LossContext& context, Device& device)
      : device_(device),
        plan_(context.loss),
        type_(context.plan.compute),
        elements_(context.prediction().elements()),
        classes_(context.prediction().rank() == 0 ? 1 : context.prediction().back()),
        loss_(device.make_loss(context)) {
    for (const nn::ResolvedMetric& metric : plan_.metrics) {
      auto op = make_metric_op({.loss = plan_, .metric = metric, .type = type_, .rows = context.rows}, device);
      const bool of_hits = loss_->computes_hits() && op->reads_hits();
      hits_bytes_ = of_hits ? aligned_bytes(rows_of(context.rows) * kMaxHitBytes) : hits_bytes_;
      const bool of_values = !of_hits && wants_values(metric);
      if (of_values)
        values_bytes_ = aligned_bytes(static_cast<std::uint64_t>(context.rows * elements_) * sizeof(float));
      own_bytes_ = std::max(own_bytes_, aligned_bytes(op->need().scratch));
      metrics_.push_back({.op = std::move(op),
                          .offset = metric.offset,
                          .masked = metric.masked,
                          .of_hits = of_hits,
                          .of_values = of_values});
    }
    own_bytes_ = std::max(own_bytes_, aligned_bytes(loss_->need().scratch));
  }

  plan::Need need() const override {
    plan::Need need = loss_->need();
    need.scratch = own_bytes_ + hits_bytes_ + values_bytes_;
    return need;
  }
  bool computes_hits() const override { return loss_->computes_hits(); }

  void run(const LossArgs& args) override {
    auto* const hits = static_cast<std::byte*>(args.scratch) + own_bytes_;
    auto* const values = reinterpret_cast<float*>(hits + hits_bytes_);
    if (values_bytes_ > 0)
      device_.apply_fused(plan_.fusion, args.prediction, type_, static_cast<std::int64_t>(rows_of(args.rows)), classes_,
                          values, *args.stream);
    MetricArgs measured = common(args);
    for (const Measured& metric : metrics_) {
      if (metric.of_hits) continue;
      measured.prediction = metric.of_values ? static_cast<const void*>(values) : args.prediction;
      measured.type = metric.of_values ? DType::kF32 : type_;
      run(metric, measured, args);
    }
    LossArgs own = args;
    own.hits = hits_bytes_ > 0 ? hits : nullptr;
    loss_->run(own);
    measured.prediction = nullptr;
    measured.hits = hits;
    for (const Measured& metric : metrics_) {
      if (metric.of_hits) run(metric, measured, args);
    }
  }

 private:
  struct Measured {
    std::unique_ptr<MetricOp> op;
    std::size_t offset = 0;  ///< index of its state in LossArgs::sums
    bool masked = false;     ///< uses the mask of the loss
    bool of_hits = false;    ///< runs after the loss, on its hits
    bool of_values = false;  ///< reads the output of the activation that is fused into the loss
  };

  static void run(const Measured& metric, MetricArgs& measured, const LossArgs& args) {
    measured.mask = metric.masked ? args.mask : nullptr;
    measured.state = args.sums + metric.offset;
    metric.op->run(measured);
  }

  bool wants_values(const nn::ResolvedMetric& metric) const {
    using Fusion = plan::LossStep::Fusion;
    if (plan_.fusion == Fusion::kNone) return false;
    switch (metric.type().reads) {
      case nn::MetricReads::kOrder: return false;
      case nn::MetricReads::kThreshold: return plan_.fusion == Fusion::kSoftmax;
      case nn::MetricReads::kValues: break;
    }
    return true;
  }

  /// Number of rows of classes.
  std::uint64_t rows_of(std::int64_t samples) const {
    return static_cast<std::uint64_t>(samples * (elements_ / classes_));
  }

  MetricArgs common(const LossArgs& args) const {
    const bool class_labels = plan_.labels == nn::LabelKind::kClass;
    return {.rows = args.rows,
            .classes = class_labels ? static_cast<const std::int32_t*>(args.labels) : nullptr,
            .dense = class_labels ? nullptr : static_cast<const float*>(args.labels),
            .scratch = args.scratch,
            .stream = args.stream};
  }

  Device& device_;
  const plan::LossStep& plan_;
  DType type_;
  std::int64_t elements_, classes_;  // per sample, per row
  std::unique_ptr<LossOp> loss_;
  std::vector<Measured> metrics_;
  std::uint64_t own_bytes_ = 0, hits_bytes_ = 0, values_bytes_ = 0;  // parts of scratch, in this order
};

}  // namespace

std::unique_ptr<LossOp> measured_loss(const LossContext& context, Device& device) {
  return std::make_unique<MeasuredLoss>(context, device);
}

}  // namespace dptrain::backend
