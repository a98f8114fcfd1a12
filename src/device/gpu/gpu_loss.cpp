// Loss and metrics of the GPU device. Kernels give one number per row, which are added to the sums on the device in an
// order that depends on the rows alone; nothing waits for the host.

#include "core/error.h"
#include "core/format.h"
#include "device/gpu/gpu_device.h"
#include "device/loss_function.h"
#include "kernels/cuda/loss.h"
#include "kernels/cuda/softmax.h"
#include "optim/loss.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

using optim::MetricKind;
using optim::ResolvedMetric;

class GpuLoss final : public LossOp {
 public:
  GpuLoss(const LossContext& context, GpuDevice& device)
      : device_(device),
        plan_(context.loss),
        type_(context.plan.compute),
        function_(loss_function(plan_.loss)),
        elements_(prediction_shape(context).elements()),
        classes_(prediction_shape(context).rank() > 0 ? prediction_shape(context).back() : 1),
        positions_(elements_ / classes_),
        parts_(function_.kind == LossKind::kCategorical ? positions_ : 1),
        class_labels_(plan_.labels == optim::LabelKind::kClass),
        capacity_(context.rows) {
    if (class_labels_ && positions_ != 1)
      throw Error(ErrorKind::kUsage,
                  fmt::format("loss {}: labels of one class per sample need an output of one axis, found {}",
                              plan_.loss.name(), prediction_shape(context).str()));
    for (const ResolvedMetric& metric : plan_.metrics)
      applies_activation_ = applies_activation_ || (plan_.fusion != plan::LossStep::Fusion::kNone && is_error(metric));
    if (!plan_.class_weights.empty()) upload_class_weights();
  }

  plan::Need need() const override {
    const std::int64_t per_row = positions_ * 2 + (applies_activation_ ? elements_ : 0);
    return {.saved = 0,
            .scratch = static_cast<std::uint64_t>(kernel::add_sum_workspace()) * sizeof(double) +
                       static_cast<std::uint64_t>(capacity_ * per_row) * sizeof(float)};
  }

  void run(const LossArgs& a) override {
    const Call call = prepared(a);
    // Metrics first: the gradient may overwrite the predictions.
    for (std::size_t i = 0; i < plan_.metrics.size(); ++i)
      if (!counted_by_loss(plan_.metrics[i])) count(plan_.metrics[i], call, a.sums + 1 + i);
    compute(call);
    if (a.weighted && class_weights_)  // one class per sample, as the plan has checked, so items are rows
      kernel::weigh_by_class(call.at, type_, call.targets, a.rows, elements_, class_weights_->as<float>(),
                             static_cast<std::int64_t>(plan_.class_weights.size()), call.values, a.gradient);
    if (a.sample_weights != nullptr)
      kernel::weigh_by_sample(call.at, type_, a.sample_weights, a.rows, parts_, elements_, call.values, a.gradient);
    add(call, call.values, a.rows * parts_, static_cast<double>(parts_), a.sums);
    for (std::size_t i = 0; i < plan_.metrics.size(); ++i)
      if (counted_by_loss(plan_.metrics[i])) add_hits(call, a.sums + 1 + i);
  }

 private:
  /// The pointers of one call. `items` are rows times positions, each with one number in `values`.
  struct Call {
    const LossArgs& args;
    kernel::Launch at;
    std::int64_t items;
    kernel::LossTargets targets;
    double* workspace;
    float* values;
    std::int32_t* hits;
    const void* probabilities;  ///< predictions after the activation that is fused into the loss,
    DType probability_type;     ///< which are floats, else the predictions themselves
  };

  /// The softmax pass knows whether the largest is the right one.
  bool counted_by_loss(const ResolvedMetric& metric) const {
    return metric.kind == MetricKind::kArgmaxEqual && function_.kind == LossKind::kCategorical && plan_.from_logits;
  }

  /// *sum += the numbers / parts.
  template <class T>
  static void add(const Call& call, const T* numbers, std::int64_t n, double parts, double* sum) {
    kernel::add_sum(call.at, numbers, n, 1.0 / parts, call.workspace, sum);
  }
  /// *sum += over samples, the part of the positions that are hits.
  void add_hits(const Call& call, double* sum) const {
    add(call, call.hits, call.items, static_cast<double>(positions_), sum);
  }

  Call prepared(const LossArgs& a) const {
    const std::int64_t items = a.rows * positions_;
    auto* const workspace = static_cast<double*>(a.scratch);
    auto* const values = reinterpret_cast<float*>(workspace + kernel::add_sum_workspace());
    Call call{.args = a,
              .at = device_.launch(*a.stream),
              .items = items,
              .targets = {.label_smoothing = function_.label_smoothing},
              .workspace = workspace,
              .values = values,
              .hits = reinterpret_cast<std::int32_t*>(values + items),
              .probabilities = a.prediction,
              .probability_type = type_};
    if (class_labels_)
      call.targets.labels = static_cast<const std::int32_t*>(a.labels);
    else
      call.targets.dense = static_cast<const float*>(a.labels);
    if (applies_activation_) apply_activation(call, values + 2 * items);
    return call;
  }

  void apply_activation(Call& call, float* probabilities) const {
    if (plan_.fusion == plan::LossStep::Fusion::kSoftmax)
      kernel::softmax_probabilities(call.at, type_, call.args.prediction, call.items, classes_, probabilities);
    else
      kernel::sigmoid_probabilities(call.at, type_, call.args.prediction, call.args.rows * elements_, probabilities);
    call.probabilities = probabilities;
    call.probability_type = DType::kF32;
  }

  void upload_class_weights() {
    const std::size_t bytes = plan_.class_weights.size() * sizeof(float);
    class_weights_ = device_.allocate(bytes);
    const auto stream = device_.make_stream(false);
    device_.copy_to_device(class_weights_->data(), plan_.class_weights.data(), bytes, *stream);
    stream->synchronize();
  }

  void compute(const Call& call) const {
    const LossArgs& a = call.args;
    const auto scale = static_cast<float>(a.gradient_scale / static_cast<double>(parts_));
    kernel::LossOutputs outputs{
        .loss = call.values, .gradient = a.gradient, .gradient_scale = scale, .loss_scale = a.loss_scale};
    const auto run = [&](auto* loss, std::int64_t rows, std::int64_t width) {
      loss(call.at, type_, a.prediction, rows, width, call.targets, outputs);
    };
    switch (function_.kind) {
      case LossKind::kCategorical:
        if (plan_.from_logits) outputs.hit = call.hits;
        return run(plan_.from_logits ? kernel::softmax_cross_entropy : kernel::categorical_cross_entropy, call.items,
                   classes_);
      case LossKind::kBinary:
        return run(plan_.from_logits ? kernel::binary_cross_entropy_from_logits : kernel::binary_cross_entropy, a.rows,
                   elements_);
      case LossKind::kSquared: return run(kernel::mean_squared_error, a.rows, elements_);
      case LossKind::kAbsolute: return run(kernel::mean_absolute_error, a.rows, elements_);
    }
  }

  /// *sum += one metric, summed over samples.
  void count(const ResolvedMetric& metric, const Call& call, double* sum) const {
    const LossArgs& a = call.args;
    const auto error = [&](auto* loss) {
      loss(call.at, call.probability_type, call.probabilities, a.rows, elements_, call.targets, {.loss = call.values});
      add(call, call.values, a.rows, 1, sum);
    };
    switch (metric.kind) {
      case MetricKind::kArgmaxEqual:
        kernel::categorical_hits(call.at, type_, a.prediction, call.items, classes_, call.targets, call.hits);
        return add_hits(call, sum);
      case MetricKind::kTopK:
        kernel::top_k_hits(call.at, type_, a.prediction, call.items, classes_, call.targets, metric.k, call.hits);
        return add_hits(call, sum);
      case MetricKind::kBinaryEqual:
        kernel::binary_hits(call.at, type_, a.prediction, a.rows, elements_, call.targets, hit_threshold(plan_, metric),
                            call.hits);
        return add(call, call.hits, a.rows, static_cast<double>(elements_), sum);
      case MetricKind::kSquaredError: return error(kernel::mean_squared_error);
      case MetricKind::kAbsoluteError: return error(kernel::mean_absolute_error);
    }
  }

  GpuDevice& device_;
  const plan::LossStep& plan_;
  DType type_;
  LossFunction function_;
  std::int64_t elements_, classes_, positions_;  // of one sample
  std::int64_t parts_;  // numbers per sample that the loss kernel gives: one per position, or one
  bool class_labels_, applies_activation_ = false;
  std::int64_t capacity_;
  std::unique_ptr<Buffer> class_weights_;  ///< on the device; null where there are none
};

}  // namespace

std::unique_ptr<LossOp> make_gpu_loss(const LossContext& context, GpuDevice& device) {
  return std::make_unique<GpuLoss>(context, device);
}

}  // namespace dptrain::device::DPTRAIN_GPU
