#include "nn/embedding.h"

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/embedding.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class EmbeddingOp final : public GpuOp {
 public:
  EmbeddingOp(const nn::EmbeddingSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        words_(spec.input_dim),
        width_(spec.output_dim),
        steps_(context.input(0).elements()),
        masks_(spec.mask_zero) {}

  void forward(const OpArgs& a) override {
    kernel::gather_rows(at(a), type_, a.in<std::int32_t>(), a.rows * steps_, a.compute_weights[0], words_, width_,
                        a.out<void>(), masks_ ? a.out<std::uint8_t>(1) : nullptr);
  }

  void backward(const OpArgs& a) override {
    if (a.weight_gradients[0] == nullptr) return;
    device_.fill(a.weight_gradients[0], words_ * width_, 0, *a.stream);
    kernel::scatter_rows(at(a), type_, a.in<std::int32_t>(), a.rows * steps_, a.dy<void>(), words_, width_,
                         a.weight_gradients[0]);
  }

 private:
  std::int64_t words_, width_, steps_;
  bool masks_;
};

const RegisteredOp kEmbedding = op<nn::EmbeddingSpec, EmbeddingOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
