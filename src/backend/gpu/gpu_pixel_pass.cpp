// Batches computed by kernels/cuda/pixels.h.

#include "backend/gpu/gpu_device.h"
#include "backend/pixel_pass.h"
#include "kernels/cuda/pixels.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class GpuPixelPass final : public PixelPass {
 public:
  GpuPixelPass(const PixelPassContext& context, GpuDevice& device)
      : device_(device),
        program_(context.program),
        type_(context.type),
        compute_(context.compute),
        workspace_(device.allocate(static_cast<std::size_t>(kernel::pixels_workspace(program_, context.rows)))) {}

  void run(const PixelArgs& a) override {
    kernel::run_pixels(device_.launch(*a.stream), program_,
                       {.in = a.in,
                        .type = type_,
                        .samples = a.samples,
                        .gather = a.gather,
                        .epoch = static_cast<std::uint32_t>(a.epoch),
                        .rows = a.rows},
                       workspace_->data(), compute_, a.out);
  }

  std::size_t bytes() const override { return workspace_->bytes(); }

 private:
  GpuDevice& device_;
  const kernels::PixelProgram program_;
  DType type_, compute_;
  std::unique_ptr<Buffer> workspace_;
};

const RegisteredPixelPass kGpuPixelPass(kKind, [](const PixelPassContext& context, Device& device) {
  return std::make_unique<GpuPixelPass>(context, static_cast<GpuDevice&>(device));
});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
