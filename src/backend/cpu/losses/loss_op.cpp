// What all losses of the CPU have in common. Kernels give one number per row; rows are added in order in double, so
// that the sums depend neither on threads nor on how rows are cut.

#include "backend/cpu/losses/row_loss.h"
#include "core/error.h"
#include "core/format.h"

namespace dptrain::backend::cpu {
namespace {

/// Of those that count.
double sum_in_order(const float* values, const std::uint8_t* mask, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i)
    if (mask == nullptr || mask[i] != 0) sum += static_cast<double>(values[i]);
  return sum;
}

class CpuLossOp final : public LossOp {
 public:
  CpuLossOp(const LossContext& context, RowLoss loss)
      : plan_(context.loss),
        loss_(std::move(loss)),
        shape_(loss_shape(context)),
        class_labels_(plan_.labels == nn::LabelKind::kClass),
        expands_labels_(class_labels_ && !loss_.takes_classes),
        capacity_(context.rows) {
    if (plan_.masked() && loss_.sample.parts() != plan_.masked_positions)
      throw Error(ErrorKind::kInternal, fmt::format("{}: {} numbers for {} masked positions", plan_.loss.name(),
                                                    loss_.sample.parts(), plan_.masked_positions));
  }

  plan::Need need() const override {
    const auto per_row =
        loss_.sample.parts() + shape_.elements * int{expands_labels_} + int{!plan_.class_weights.empty()};
    return {.saved = 0, .scratch = static_cast<std::uint64_t>(capacity_ * per_row) * sizeof(float)};
  }

  bool knows_hits() const override { return loss_.knows_hits; }

  void run(const LossArgs& a) override {
    auto* next = static_cast<float*>(a.scratch);
    LossCall call{.rows = a.rows * loss_.sample.rows,
                  .width = loss_.sample.width,
                  .predictions = static_cast<const float*>(a.prediction),
                  .values = next,
                  .gradient = static_cast<float*>(a.gradient),
                  .gradient_scale = static_cast<float>(a.gradient_scale / static_cast<double>(loss_.sample.parts())),
                  .hits = static_cast<std::uint8_t*>(a.hits)};
    next += a.rows * loss_.sample.parts();
    if (!class_labels_)
      call.targets.dense = static_cast<const float*>(a.labels);
    else
      call.targets.labels = static_cast<const std::int32_t*>(a.labels);
    const kernels::cpu::ClassTargets given = call.targets;
    if (expands_labels_) {
      expand_labels(given.labels, a.rows * shape_.positions(), next);
      call.targets = {.dense = next};
      next += a.rows * shape_.elements;
    }
    loss_.run(call);
    if (a.weighted && !plan_.class_weights.empty()) weigh_by_class(given, a, call.values, next);
    if (plan_.masked() && a.gradient != nullptr)
      kernels::cpu::leave_out(a.mask, a.rows * loss_.sample.parts(), shape_.classes, *a.mask_scale, call.gradient);
    if (a.sample_weights != nullptr) weigh(a, call.values, a.sample_weights);
    a.sums[0] +=
        sum_in_order(call.values, a.mask, a.rows * loss_.sample.parts()) / static_cast<double>(loss_.sample.parts());
  }

 private:
  /// A class is a row with a one, or with a single output the number itself.
  void expand_labels(const std::int32_t* labels, std::int64_t items, float* out) const {
    const std::int64_t classes = shape_.classes;
    for (std::int64_t item = 0; item < items; ++item)
      for (std::int64_t c = 0; c < classes; ++c)
        out[item * classes + c] = classes == 1 ? static_cast<float>(labels[item]) : labels[item] == c ? 1.0F : 0.0F;
  }

  /// There is one class per sample: the plan has checked that.
  void weigh_by_class(const kernels::cpu::ClassTargets& targets, const LossArgs& a, float* values,
                      float* factors) const {
    kernels::cpu::class_factors(targets, a.rows, shape_.classes, plan_.class_weights.data(),
                                static_cast<std::int64_t>(plan_.class_weights.size()), factors);
    weigh(a, values, factors);
  }

  /// Loss and gradient of each row times its factor.
  void weigh(const LossArgs& a, float* values, const float* factors) const {
    kernels::cpu::scale_rows(values, a.rows, loss_.sample.parts(), factors);
    if (a.gradient != nullptr)
      kernels::cpu::scale_rows(static_cast<float*>(a.gradient), a.rows, shape_.elements, factors);
  }

  const plan::LossStep& plan_;
  RowLoss loss_;
  LossShape shape_;
  bool class_labels_, expands_labels_;
  std::int64_t capacity_;
};

}  // namespace

std::unique_ptr<LossOp> make_loss_op(const LossContext& context, RowLoss loss) {
  return std::make_unique<CpuLossOp>(context, std::move(loss));
}

}  // namespace dptrain::backend::cpu
