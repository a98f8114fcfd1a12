// All losses. A loss is a pass over rows of predictions that writes a number per row and the gradient; RowLossOp adds
// the parts that all losses share: labels, weights, masks, and the sum over rows, whose order depends on the rows
// alone.

#include "nn/losses.h"

#include <functional>

#include "backend/device.h"
#include "backend/ops/kernel_op.h"
#include "core/error.h"
#include "core/format.h"
#include DPTRAIN_KERNELS(loss.h)

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

namespace losses = kernels::losses;

std::int64_t classes_of(const LossContext& context) {
  const Shape& shape = context.prediction();
  return shape.rank() > 0 ? shape.back() : 1;
}

/// The memory layout of one sample as a kernel reads it: rows of [width, inner], each of which has `inner` losses.
struct SampleRows {
  std::int64_t rows = 1, width = 1, inner = 1;
  std::int64_t parts() const { return rows * inner; }  ///< losses per sample, whose mean is the sample's loss
};

/// A row of classes for each position.
SampleRows position_rows(const LossContext& context) {
  const std::int64_t classes = classes_of(context);
  return {.rows = context.prediction().elements() / classes, .width = classes};
}

struct RowLoss {
  SampleRows sample{};
  std::function<void(const kernel::Launch& at, DType type, const kernel::LossRows& rows)> run{};
  bool takes_classes = false;  ///< CPUs: reads class numbers; other losses need dense rows
  bool computes_hits = false;  ///< the return value of LossOp's function
};

/// One row per sample. Sums, masks and weights of classes need a number for each position, so there is a row for each.
template <class F>
RowLoss row_loss(const F& f, const LossContext& context) {
  const bool by_position = losses::kSumsElements<F> || context.loss.masked() || !context.loss.class_weights.empty();
  return {.sample = by_position ? position_rows(context) : SampleRows{.width = context.prediction().elements()},
          .run = [f](const kernel::Launch& at, DType type, const kernel::LossRows& rows) {
            kernel::element_loss(at, type, rows, f);
          }};
}

template <class F>
RowLoss sums_loss(const SampleRows& sample, const F& f) {
  return {.sample = sample,
          .run = [f, inner = sample.inner](const kernel::Launch& at, DType type, const kernel::LossRows& rows) {
            kernel::sums_loss(at, type, rows, inner, f);
          }};
}

/// Cross-entropy of logits, in one pass with softmax, or of probabilities.
RowLoss crossentropy(const LossContext& context, double label_smoothing) {
  const bool logits = context.loss.from_logits;
  return {.sample = position_rows(context),
          .run =
              [logits, smoothing = static_cast<float>(label_smoothing)](const kernel::Launch& at, DType type,
                                                                        const kernel::LossRows& rows) {
                kernels::LossTargets targets = rows.targets;
                targets.label_smoothing = smoothing;
                const auto loss = logits ? kernel::softmax_cross_entropy : kernel::categorical_cross_entropy;
                loss(at, type, rows.predictions, rows.rows, rows.width, targets, rows.outputs);
              },
          .takes_classes = true,
          .computes_hits = logits};
}

RowLoss row_loss(const nn::CategoricalCrossentropySpec& spec, const LossContext& context) {
  return crossentropy(context, spec.label_smoothing);
}

RowLoss row_loss(const nn::SparseCategoricalCrossentropySpec&, const LossContext& context) {
  return crossentropy(context, 0.0);
}

RowLoss row_loss(const nn::CategoricalFocalCrossentropySpec& spec, const LossContext& context) {
  const losses::CategoricalFocalCrossentropy f{spec.alpha, spec.gamma};
  return {.sample = position_rows(context),
          .run =
              [f, logits = context.loss.from_logits, smoothing = static_cast<float>(spec.label_smoothing)](
                  const kernel::Launch& at, DType type, kernel::LossRows rows) {
                rows.targets.label_smoothing = smoothing;
                kernel::class_loss(at, type, rows, logits, f);
              },
          .takes_classes = true};
}

RowLoss row_loss(const nn::CategoricalHingeSpec&, const LossContext& context) {
  return {.sample = position_rows(context), .run = kernel::categorical_hinge};
}

RowLoss row_loss(const nn::BinaryCrossentropySpec& spec, const LossContext& context) {
  const losses::BinarySmoothing smoothing{spec.label_smoothing};
  if (context.loss.from_logits) return row_loss(losses::BinaryCrossentropyFromLogits{smoothing}, context);
  return row_loss(losses::BinaryCrossentropy{smoothing}, context);
}

RowLoss row_loss(const nn::BinaryFocalCrossentropySpec& spec, const LossContext& context) {
  const losses::FocalFactor factor{spec.gamma, spec.apply_class_balancing, spec.alpha, {spec.label_smoothing}};
  if (context.loss.from_logits) return row_loss(losses::BinaryFocalCrossentropyFromLogits{factor}, context);
  return row_loss(losses::BinaryFocalCrossentropy{factor}, context);
}

RowLoss row_loss(const nn::CosineSimilaritySpec&, const LossContext& context) {
  return sums_loss(position_rows(context), losses::CosineSimilarity{});
}

template <class F>
RowLoss row_loss(const nn::OverAxes<F>& spec, const LossContext& context) {
  const nn::SumLayout sums = nn::sum_layout(spec, context.prediction());
  return sums_loss({.rows = sums.outer, .width = sums.length, .inner = sums.inner}, F{spec});
}

class RowLossOp final : public LossOp {
 public:
  RowLossOp(const LossContext& context, Device& device, RowLoss loss)
      : device_(static_cast<BackendDevice&>(device)),
        plan_(context.loss),
        type_(context.plan.compute),
        loss_(std::move(loss)),
        elements_(context.prediction().elements()),
        classes_(classes_of(context)),
        capacity_(context.rows),
        expands_labels_(kIsCpu && has_class_labels() && !loss_.takes_classes) {
    if (plan_.averages_valid() && loss_.sample.parts() != plan_.masked_positions)
      throw Error(ErrorKind::kInternal, fmt::format("{}: {} numbers for {} masked positions", plan_.loss.name(),
                                                    loss_.sample.parts(), plan_.masked_positions));
    if (!plan_.class_weights.empty()) class_weights_ = upload(plan_.class_weights, device);
  }

  /// The workspace of add_sum, a number for each row, and on CPUs class labels expanded to rows.
  plan::Need need() const override {
    const std::int64_t floats = loss_.sample.parts() + (expands_labels_ ? elements_ : 0);
    return {.saved = 0,
            .scratch = static_cast<std::uint64_t>(kernel::add_sum_workspace()) * sizeof(double) +
                       static_cast<std::uint64_t>(capacity_ * floats) * sizeof(float)};
  }

  bool computes_hits() const override { return loss_.computes_hits; }

  void run(const LossArgs& a) override {
    const kernel::Launch at = launch_on(device_, a.stream);
    const std::int64_t parts = loss_.sample.parts(), numbers = a.rows * parts;
    auto* const workspace = static_cast<double*>(a.scratch);
    auto* const values = reinterpret_cast<float*>(workspace + kernel::add_sum_workspace());
    auto* const gradient = static_cast<Element*>(a.gradient);
    const kernels::LossTargets targets = targets_of(a);
    loss_.run(at, type_,
              {.predictions = static_cast<const Element*>(a.prediction),
               .rows = a.rows * loss_.sample.rows,
               .width = loss_.sample.width,
               .targets = expands_labels_ ? expanded(targets.labels, a.rows, values + numbers) : targets,
               .outputs = {.loss = values,
                           .gradient = gradient,
                           .gradient_scale = static_cast<float>(a.gradient_scale / static_cast<double>(parts)),
                           .loss_scale = a.loss_scale,
                           .hit = static_cast<kernel::Hit*>(a.hits)}});
    if (a.weighted && class_weights_)  // one class per row; the plan checks this
      kernel::weigh_by_class(at, type_, targets, a.rows * (elements_ / classes_), classes_, class_weights_->as<float>(),
                             static_cast<std::int64_t>(plan_.class_weights.size()), values, gradient);
    if (plan_.averages_valid() && gradient != nullptr)
      kernel::mask_gradient(at, type_, a.mask, numbers, elements_ / parts, a.mask_scale, gradient);
    if (a.sample_weights != nullptr)
      kernel::weigh_by_sample(at, type_, a.sample_weights, a.rows, parts, elements_, values, gradient);
    kernel::add_sum(at, values, numbers, static_cast<double>(parts), workspace, a.sums,
                    plan_.averages_valid() ? a.mask : nullptr);
  }

 private:
  bool has_class_labels() const { return plan_.labels == nn::LabelKind::kClass; }

  kernels::LossTargets targets_of(const LossArgs& a) const {
    if (has_class_labels()) return {.labels = static_cast<const std::int32_t*>(a.labels)};
    return {.dense = static_cast<const float*>(a.labels)};
  }

  /// CPUs: expands class labels to one-hot rows, or, with a single output, to the number itself.
  kernels::LossTargets expanded(const std::int32_t* labels, std::int64_t samples, float* dense) const {
    for (std::int64_t row = 0; row < samples * (elements_ / classes_); ++row)
      for (std::int64_t c = 0; c < classes_; ++c)
        dense[row * classes_ + c] = classes_ == 1 ? static_cast<float>(labels[row]) : labels[row] == c ? 1.0F : 0.0F;
    return {.dense = dense};
  }

  BackendDevice& device_;
  const plan::LossStep& plan_;
  DType type_;
  RowLoss loss_;
  std::int64_t elements_, classes_;  // per sample, per row of classes
  std::int64_t capacity_;
  bool expands_labels_;
  std::unique_ptr<Buffer> class_weights_;  ///< on the device; null where there are none
};

template <class Spec>
RegisteredLossOp loss_op() {
  return {kKind, typeid(Spec), [](const LossContext& context, Device& device) {
            return std::make_unique<RowLossOp>(context, device, row_loss(context.loss.loss.as<Spec>(), context));
          }};
}

#define DPTRAIN_ELEMENT_LOSS_OP(F) loss_op<losses::F>(),
const RegisteredLossOp kElementLosses[] = {DPTRAIN_ELEMENT_LOSSES(DPTRAIN_ELEMENT_LOSS_OP)};
#undef DPTRAIN_ELEMENT_LOSS_OP

#define DPTRAIN_SUMS_LOSS_OP(F) loss_op<nn::OverAxes<losses::F>>(),
const RegisteredLossOp kSumsLosses[] = {DPTRAIN_SUMS_LOSSES(DPTRAIN_SUMS_LOSS_OP)};
#undef DPTRAIN_SUMS_LOSS_OP

const RegisteredLossOp kOtherLosses[] = {loss_op<nn::BinaryCrossentropySpec>(),
                                         loss_op<nn::BinaryFocalCrossentropySpec>(),
                                         loss_op<nn::CategoricalCrossentropySpec>(),
                                         loss_op<nn::SparseCategoricalCrossentropySpec>(),
                                         loss_op<nn::CategoricalFocalCrossentropySpec>(),
                                         loss_op<nn::CategoricalHingeSpec>(),
                                         loss_op<nn::CosineSimilaritySpec>()};

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
