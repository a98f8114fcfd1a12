// Lamb has a file per backend: CPUs update one weight tensor after the other, GPUs all in one launch.

#include <cmath>

#include "backend/gpu/device_table.h"
#include "backend/ops/optimizer_base.h"
#include "nn/optimizers.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class LambOp final : public OptimizerBase {
 public:
  LambOp(const nn::LambSpec& spec, const UpdateContext& context, Device& device)
      : LambOp(spec, context, device, *device.make_stream(false)) {}

  void describe(const UpdateArgs& args, kernels::StepState& state) const override {
    const auto t = static_cast<double>(args.step + 1);
    state.hyper[0] = 1 / (1 - std::pow(pass_.beta_1, t));
    state.hyper[1] = 1 / (1 - std::pow(pass_.beta_2, t));
  }

  void run(const OptimizerArgs& a) override {
    const UpdateBuffers& b = a.buffers;
    kernel::lamb_update(at(a), pass_, state(a), b.gradients, a.n, tensors_.table(), workspace_->as<double>(),
                        weights(a), b.slots[0], b.slots[1]);
  }

 private:
  LambOp(const nn::LambSpec& spec, const UpdateContext& context, Device& device, Stream& stream)
      : OptimizerBase(context, device),
        pass_(adam_pass(spec)),
        tensors_(trainable_of(context.plan), device_, stream),
        workspace_(device.allocate(sizeof(double) *
                                   static_cast<std::size_t>(kernel::lamb_workspace(tensors_.table().count)))) {
    stream.synchronize();
  }

  const kernels::AdamPass pass_;
  const DeviceTable<kernel::Segment> tensors_;
  const std::unique_ptr<Buffer> workspace_;
};

const RegisteredOptimizerOp kLamb = optimizer_op<nn::LambSpec, LambOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
