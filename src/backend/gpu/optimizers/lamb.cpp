#include "nn/optimizers.h"

#include "backend/gpu/device_table.h"
#include "backend/gpu/optimizers/adam_pass.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class LambOp final : public GpuOptimizer {
 public:
  LambOp(const nn::LambSpec& spec, const UpdateContext& context, Device& device)
      : LambOp(spec, context, device, *device.make_stream(false)) {}

  void describe(const nn::UpdateArgs& args, kernels::StepState& state) const override {
    state.hyper[0] = 1 / bias_correction(spec_.beta_1, args);
    state.hyper[1] = 1 / bias_correction(spec_.beta_2, args);
  }

  void run(const OptimizerArgs& a) override {
    const UpdateBuffers& b = a.buffers;
    kernel::lamb_update(at(a), adam_pass(spec_), state(a), b.gradients, a.n, tensors_.table(), workspace_->as<double>(),
                        weights(a), b.slots[0], b.slots[1]);
  }

 private:
  LambOp(const nn::LambSpec& spec, const UpdateContext& context, Device& device, Stream& stream)
      : GpuOptimizer(spec, context, device),
        spec_(spec),
        tensors_(trainable_of(context.plan), device_, stream),
        workspace_(device.allocate(sizeof(double) *
                                   static_cast<std::size_t>(kernel::lamb_workspace(tensors_.table().count)))) {
    stream.synchronize();
  }

  const nn::LambSpec& spec_;
  const DeviceTable<kernel::Segment> tensors_;
  const std::unique_ptr<Buffer> workspace_;
};

const RegisteredOptimizerOp kLamb = optimizer_op<nn::LambSpec, LambOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
