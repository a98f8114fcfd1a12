// Embedding and PositionEmbedding.

#include "kernels/cuda/embedding.h"
#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/bias.h"
#include "kernels/cuda/elementwise.h"
#include "nn/embedding.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class EmbeddingOp final : public GpuOp {
 public:
  EmbeddingOp(const nn::EmbeddingSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        words_(spec.input_dim),
        width_(spec.output_dim),
        steps_(context.input(0).elements()),
        masks_(spec.mask_zero),
        workspace_(context.trains() ? kernel::scatter_rows_workspace(context.rows * steps_) : 0) {}

  plan::Need need() const override { return {.saved = 0, .scratch = workspace_}; }

  void forward(const OpArgs& a) override {
    kernel::gather_rows(at(a), type_, a.in<std::int32_t>(), a.rows * steps_, a.compute_weights[0], words_, width_,
                        a.out<void>(), masks_ ? a.out<std::uint8_t>(1) : nullptr);
  }

  void backward(const OpArgs& a) override {
    if (a.weight_gradients[0] == nullptr) return;
    device_.fill(a.weight_gradients[0], words_ * width_, 0, *a.stream);
    kernel::scatter_rows(at(a), type_, a.in<std::int32_t>(), a.rows * steps_, a.dy<void>(), words_, width_, a.scratch,
                         a.weight_gradients[0]);
  }

 private:
  std::int64_t words_, width_, steps_;
  bool masks_;
  std::uint64_t workspace_;
};

class PositionEmbeddingOp final : public GpuOp {
 public:
  PositionEmbeddingOp(const nn::PositionEmbeddingSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        rows_(context.rows),
        used_(context.output().elements()),
        all_(spec.sequence_length * context.output().back()),
        trains_(context.trains()) {}

  plan::Need need() const override {
    const auto floats = trains_ ? kernel::bias_gradient_workspace(rows_, used_) : 0;
    return {.saved = 0, .scratch = static_cast<std::uint64_t>(floats) * sizeof(float)};
  }

  void forward(const OpArgs& a) override {
    const std::int64_t bytes = used_ * static_cast<std::int64_t>(size_of(type_));
    for (std::int64_t row = 0; row < a.rows; ++row)
      kernel::copy(at(a), type_, a.compute_weights[0], a.out<std::byte>() + row * bytes, used_);
  }

  void backward(const OpArgs& a) override {
    if (float* const gradient = a.weight_gradients[0]) {
      kernel::bias_gradient(at(a), type_, a.dy<void>(), a.rows, used_, static_cast<float*>(a.scratch), gradient);
      if (all_ > used_) kernel::fill(at(a), 0, gradient + used_, all_ - used_);
    }
    if (a.input_gradients[0] != nullptr) set_to_zero(a, a.input_gradients[0], a.rows * used_);
  }

 private:
  std::int64_t rows_, used_, all_;
  bool trains_;
};

const RegisteredOp kEmbedding = op<nn::EmbeddingSpec, EmbeddingOp>(kKind);
const RegisteredOp kPositionEmbedding = op<nn::PositionEmbeddingSpec, PositionEmbeddingOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
