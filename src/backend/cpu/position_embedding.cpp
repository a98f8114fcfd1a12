#include "nn/embedding.h"

#include "backend/device.h"
#include "kernels/cpu/elementwise.h"

namespace dptrain::backend::cpu {
namespace {

class PositionEmbeddingOp final : public Op {
 public:
  PositionEmbeddingOp(const nn::PositionEmbeddingSpec& spec, const OpContext& context, Device&)
      : used_(context.output().elements()), all_(spec.sequence_length * context.output().back()) {}

  void forward(const OpArgs& a) override {
    for (std::int64_t row = 0; row < a.rows; ++row)
      kernels::cpu::copy({}, DType::kF32, a.weights[0], a.out() + row * used_, used_);
  }

  /// A sum over the rows, in their order.
  void backward(const OpArgs& a) override {
    if (float* const gradient = a.weight_gradients[0]) {
      kernels::cpu::copy({}, DType::kF32, a.dy(), gradient, used_);
      for (std::int64_t row = 1; row < a.rows; ++row) kernels::cpu::accumulate(a.dy() + row * used_, gradient, used_);
      kernels::cpu::fill(0.0F, gradient + used_, all_ - used_);
    }
    if (a.dx() != nullptr) kernels::cpu::fill(0.0F, a.dx(), a.rows * used_);
  }

 private:
  std::int64_t used_, all_;
};

const RegisteredOp kCpuPositionEmbedding = op<nn::PositionEmbeddingSpec, PositionEmbeddingOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
