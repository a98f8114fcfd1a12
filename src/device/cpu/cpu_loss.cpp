// Losses of the CPU device. Kernels give one number per row; rows are added in order in double, so that the
// sums depend neither on threads nor on how rows are cut.

#include "core/error.h"
#include "core/format.h"
#include "device/cpu/cpu_device.h"
#include "device/loss_function.h"
#include "kernels/cpu/loss.h"
#include "optim/loss.h"

namespace dptrain::device::cpu {
namespace {

using kernels::cpu::ClassTargets;

template <class T>
double sum_in_order(const T* values, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(values[i]);
  return sum;
}

class CpuLoss final : public LossOp {
 public:
  explicit CpuLoss(const LossContext& context)
      : plan_(context.loss),
        function_(loss_function(plan_.loss)),
        elements_(context.prediction().elements()),
        classes_(context.prediction().rank() > 0 ? context.prediction().back() : 1),
        positions_(elements_ / classes_),
        parts_(function_.kind == LossKind::kCategorical ? positions_ : 1),
        class_labels_(plan_.labels == optim::LabelKind::kClass),
        capacity_(context.rows) {
    if (class_labels_ && positions_ != 1)
      throw Error(ErrorKind::kUsage,
                  fmt::format("loss {}: labels of one class per sample need an output of one axis, found {}",
                              plan_.loss.name(), context.prediction().str()));
    expands_labels_ = class_labels_ && function_.kind != LossKind::kCategorical;
  }

  plan::Need need() const override {
    const auto per_row = positions_ + elements_ * int{expands_labels_} + int{!plan_.class_weights.empty()};
    return {.saved = 0, .scratch = static_cast<std::uint64_t>(capacity_ * per_row) * sizeof(float)};
  }

  void run(const LossArgs& a) override {
    const Call call = prepared(a);
    compute(call);
    if (call.factors != nullptr) weigh_by_class(call);
    if (a.sample_weights != nullptr) weigh(call, a.sample_weights);
    a.sums[0] += sum_in_order(call.values, a.rows * parts_) / static_cast<double>(parts_);
  }

  bool knows_hits() const override { return function_.kind == LossKind::kCategorical && plan_.from_logits; }

 private:
  /// The pointers of one call. `items` are rows times positions, each with one number in `values`.
  struct Call {
    const LossArgs& args;
    std::int64_t items;
    ClassTargets targets;
    const float* rows;  ///< labels as rows of floats, where something reads them so
    float* values;
    float* factors;  ///< room for those of the rows' classes; null where nothing is weighted
  };

  static const float* prediction(const LossArgs& a) { return static_cast<const float*>(a.prediction); }
  Call prepared(const LossArgs& a) const {
    const std::int64_t items = a.rows * positions_;
    auto* next = static_cast<float*>(a.scratch);
    Call call{.args = a, .items = items, .targets = {}, .rows = nullptr, .values = next, .factors = nullptr};
    next += items;
    if (class_labels_) {
      call.targets.labels = static_cast<const std::int32_t*>(a.labels);
    } else {
      call.targets.dense = call.rows = static_cast<const float*>(a.labels);
    }
    call.targets.label_smoothing = function_.label_smoothing;
    if (expands_labels_) {
      expand_labels(call.targets.labels, a.rows, next);
      call.rows = next;
      next += a.rows * elements_;
    }
    if (a.weighted && !plan_.class_weights.empty()) call.factors = next;
    return call;
  }

  /// There is one class per sample (the plan has checked that), so items are rows.
  void weigh_by_class(const Call& call) const {
    const LossArgs& a = call.args;
    kernels::cpu::class_factors(call.targets, a.rows, classes_, plan_.class_weights.data(),
                                static_cast<std::int64_t>(plan_.class_weights.size()), call.factors);
    weigh(call, call.factors);
  }

  /// Loss and gradient of each row times its factor.
  void weigh(const Call& call, const float* factors) const {
    const LossArgs& a = call.args;
    kernels::cpu::scale_rows(call.values, a.rows, parts_, factors);
    if (a.gradient != nullptr) kernels::cpu::scale_rows(static_cast<float*>(a.gradient), a.rows, elements_, factors);
  }

  /// A class is a row with a one, or with a single output the number itself.
  void expand_labels(const std::int32_t* labels, std::int64_t rows, float* out) const {
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t c = 0; c < elements_; ++c)
        out[row * elements_ + c] = elements_ == 1 ? static_cast<float>(labels[row]) : labels[row] == c ? 1.0F : 0.0F;
  }

  void compute(const Call& call) const {
    const LossArgs& a = call.args;
    const float* const p = prediction(a);
    auto* const gradient = static_cast<float*>(a.gradient);
    const auto scale = static_cast<float>(a.gradient_scale / static_cast<double>(parts_));
    switch (function_.kind) {
      case LossKind::kCategorical: {
        const kernels::cpu::ClassLossOutputs outputs{.loss = call.values,
                                                     .gradient = gradient,
                                                     .gradient_scale = scale,
                                                     .hit = static_cast<std::uint8_t*>(a.hits)};
        const auto loss =
            plan_.from_logits ? kernels::cpu::softmax_cross_entropy : kernels::cpu::categorical_cross_entropy;
        return loss(p, call.items, classes_, call.targets, outputs);
      }
      case LossKind::kBinary: {
        const auto loss =
            plan_.from_logits ? kernels::cpu::binary_cross_entropy_from_logits : kernels::cpu::binary_cross_entropy;
        loss(p, call.rows, a.rows, elements_, function_.label_smoothing, call.values, gradient, scale);
        break;
      }
      case LossKind::kSquared:
        kernels::cpu::mean_squared_error(p, call.rows, a.rows, elements_, call.values, gradient, scale);
        break;
      case LossKind::kAbsolute:
        kernels::cpu::mean_absolute_error(p, call.rows, a.rows, elements_, call.values, gradient, scale);
        break;
    }
  }

  const plan::LossStep& plan_;
  LossFunction function_;
  std::int64_t elements_, classes_, positions_;  // of one sample
  std::int64_t parts_;  // numbers per sample that the loss kernel gives: one per position, or one
  bool class_labels_, expands_labels_ = false;
  std::int64_t capacity_;
};

}  // namespace

std::unique_ptr<LossOp> make_cpu_loss(const LossContext& context) { return std::make_unique<CpuLoss>(context); }

}  // namespace dptrain::device::cpu
