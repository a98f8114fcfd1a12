// What all losses of the GPU have in common. Kernels give one number per row, which are added to the sum on the device
// in an order that depends on the rows alone; nothing waits for the host.

#include "backend/gpu/losses/row_loss.h"
#include "core/error.h"
#include "core/format.h"
#include "kernels/cuda/loss_mask.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class GpuLossOp final : public LossOp {
 public:
  GpuLossOp(const LossContext& context, GpuDevice& device, RowLoss loss)
      : device_(device),
        plan_(context.loss),
        type_(context.plan.compute),
        loss_(std::move(loss)),
        elements_(loss_shape(context).elements),
        capacity_(context.rows) {
    if (plan_.masked() && loss_.sample.parts() != plan_.masked_positions)
      throw Error(ErrorKind::kInternal, fmt::format("{}: {} numbers for {} masked positions", plan_.loss.name(),
                                                    loss_.sample.parts(), plan_.masked_positions));
    if (!plan_.class_weights.empty()) upload_class_weights();
  }

  plan::Need need() const override {
    return {.saved = 0,
            .scratch = static_cast<std::uint64_t>(kernel::add_sum_workspace()) * sizeof(double) +
                       static_cast<std::uint64_t>(capacity_ * loss_.sample.parts()) * sizeof(float)};
  }

  bool knows_hits() const override { return loss_.knows_hits; }

  void run(const LossArgs& a) override {
    const kernel::Launch at = device_.launch(*a.stream);
    auto* const workspace = static_cast<double*>(a.scratch);
    auto* const values = reinterpret_cast<float*>(workspace + kernel::add_sum_workspace());
    const double parts = static_cast<double>(loss_.sample.parts());
    kernel::LossTargets targets;
    if (plan_.labels == nn::LabelKind::kClass)
      targets.labels = static_cast<const std::int32_t*>(a.labels);
    else
      targets.dense = static_cast<const float*>(a.labels);
    loss_.run(at, {.type = type_,
                   .predictions = a.prediction,
                   .rows = a.rows * loss_.sample.rows,
                   .width = loss_.sample.width,
                   .targets = targets,
                   .outputs = {.loss = values,
                               .gradient = a.gradient,
                               .gradient_scale = static_cast<float>(a.gradient_scale / parts),
                               .loss_scale = a.loss_scale,
                               .hit = static_cast<std::int32_t*>(a.hits)}});
    if (a.weighted && class_weights_)  // one class per sample, as the plan has checked
      kernel::weigh_by_class(at, type_, targets, a.rows, elements_, class_weights_->as<float>(),
                             static_cast<std::int64_t>(plan_.class_weights.size()), values, a.gradient);
    if (plan_.masked() && a.gradient != nullptr)
      kernel::leave_out(at, type_, a.mask, a.rows * loss_.sample.parts(), elements_ / loss_.sample.parts(),
                        a.mask_scale, a.gradient);
    if (a.sample_weights != nullptr)
      kernel::weigh_by_sample(at, type_, a.sample_weights, a.rows, loss_.sample.parts(), elements_, values, a.gradient);
    kernel::add_sum(at, values, a.rows * loss_.sample.parts(), 1.0 / parts, workspace, a.sums, a.mask);
  }

 private:
  void upload_class_weights() {
    const std::size_t bytes = plan_.class_weights.size() * sizeof(float);
    class_weights_ = device_.allocate(bytes);
    const auto stream = device_.make_stream(false);
    device_.copy_to_device(class_weights_->data(), plan_.class_weights.data(), bytes, *stream);
    stream->synchronize();
  }

  GpuDevice& device_;
  const plan::LossStep& plan_;
  DType type_;
  RowLoss loss_;
  std::int64_t elements_;  // of one sample
  std::int64_t capacity_;
  std::unique_ptr<Buffer> class_weights_;  ///< on the device; null where there are none
};

}  // namespace

std::unique_ptr<LossOp> make_loss_op(const LossContext& context, GpuDevice& device, RowLoss loss) {
  return std::make_unique<GpuLossOp>(context, device, std::move(loss));
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
