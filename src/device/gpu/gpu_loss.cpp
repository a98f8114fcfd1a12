// Losses of the GPU device. Kernels give one number per row, which are added to the sums on the device in an
// order that depends on the rows alone; nothing waits for the host.

#include "core/error.h"
#include "core/format.h"
#include "device/gpu/gpu_device.h"
#include "device/loss_function.h"
#include "kernels/cuda/loss.h"
#include "optim/loss.h"

namespace dptrain::device::DPTRAIN_GPU {
namespace {

class GpuLoss final : public LossOp {
 public:
  GpuLoss(const LossContext& context, GpuDevice& device)
      : device_(device),
        plan_(context.loss),
        type_(context.plan.compute),
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
    if (!plan_.class_weights.empty()) upload_class_weights();
  }

  plan::Need need() const override {
    return {.saved = 0,
            .scratch = static_cast<std::uint64_t>(kernel::add_sum_workspace()) * sizeof(double) +
                       static_cast<std::uint64_t>(capacity_ * positions_) * sizeof(float)};
  }

  void run(const LossArgs& a) override {
    const Call call = prepared(a);
    compute(call);
    if (a.weighted && class_weights_)  // one class per sample, as the plan has checked, so items are rows
      kernel::weigh_by_class(call.at, type_, call.targets, a.rows, elements_, class_weights_->as<float>(),
                             static_cast<std::int64_t>(plan_.class_weights.size()), call.values, a.gradient);
    if (a.sample_weights != nullptr)
      kernel::weigh_by_sample(call.at, type_, a.sample_weights, a.rows, parts_, elements_, call.values, a.gradient);
    add(call, call.values, a.rows * parts_, static_cast<double>(parts_), a.sums);
  }

  bool knows_hits() const override { return function_.kind == LossKind::kCategorical && plan_.from_logits; }

 private:
  /// The pointers of one call. `items` are rows times positions, each with one number in `values`.
  struct Call {
    const LossArgs& args;
    kernel::Launch at;
    std::int64_t items;
    kernel::LossTargets targets;
    double* workspace;
    float* values;
  };

  /// *sum += the numbers / parts.
  template <class T>
  static void add(const Call& call, const T* numbers, std::int64_t n, double parts, double* sum) {
    kernel::add_sum(call.at, numbers, n, 1.0 / parts, call.workspace, sum);
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
              .values = values};
    if (class_labels_)
      call.targets.labels = static_cast<const std::int32_t*>(a.labels);
    else
      call.targets.dense = static_cast<const float*>(a.labels);
    return call;
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
        outputs.hit = static_cast<std::int32_t*>(a.hits);
        return run(plan_.from_logits ? kernel::softmax_cross_entropy : kernel::categorical_cross_entropy, call.items,
                   classes_);
      case LossKind::kBinary:
        return run(plan_.from_logits ? kernel::binary_cross_entropy_from_logits : kernel::binary_cross_entropy, a.rows,
                   elements_);
      case LossKind::kSquared: return run(kernel::mean_squared_error, a.rows, elements_);
      case LossKind::kAbsolute: return run(kernel::mean_absolute_error, a.rows, elements_);
    }
  }

  GpuDevice& device_;
  const plan::LossStep& plan_;
  DType type_;
  LossFunction function_;
  std::int64_t elements_, classes_, positions_;  // of one sample
  std::int64_t parts_;  // numbers per sample that the loss kernel gives: one per position, or one
  bool class_labels_;
  std::int64_t capacity_;
  std::unique_ptr<Buffer> class_weights_;  ///< on the device; null where there are none
};

}  // namespace

std::unique_ptr<LossOp> make_gpu_loss(const LossContext& context, GpuDevice& device) {
  return std::make_unique<GpuLoss>(context, device);
}

}  // namespace dptrain::device::DPTRAIN_GPU
