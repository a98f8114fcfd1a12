#include "nn/dropout.h"

#include "backend/gpu/gpu_op.h"
#include "core/random.h"
#include "kernels/cuda/dropout.h"
#include "kernels/cuda/elementwise.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// The mask is a function of (seed, step of the plan, optimizer step, row of the global batch): nothing is kept. The
/// optimizer step is read from OpArgs::state, so that a recorded step draws anew.
class SpatialDropout2DOp final : public GpuOp {
 public:
  SpatialDropout2DOp(const nn::SpatialDropout2DSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        rate_(spec.rate),
        seed_(static_cast<std::uint32_t>(context.seed ^ context.seed >> 32)),
        stream_(static_cast<std::uint32_t>(Purpose::kDropout) + context.stream()),
        channels_(context.output().back()),
        positions_(context.output().elements() / channels_) {}

  void forward(const OpArgs& a) override { drop(a, a.training, a.inputs[0], a.out<void>()); }
  void backward(const OpArgs& a) override { drop(a, true, a.dy<void>(), a.input_gradients[0]); }

 private:
  void drop(const OpArgs& a, bool training, const void* x, void* y) const {
    if (!training || rate_ <= 0) return kernel::copy(at(a), type_, x, y, a.rows * positions_ * channels_);
    const kernel::Dropout dropout{.rate = rate_, .seed = seed_, .layer = stream_, .first_row = a.first_row};
    kernel::spatial_dropout(at(a), type_, dropout, a.state, x, a.rows, positions_, channels_, y);
  }

  float rate_;
  std::uint32_t seed_, stream_;
  std::int64_t channels_, positions_;
};

const RegisteredOp kSpatialDropout2D = op<nn::SpatialDropout2DSpec, SpatialDropout2DOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
