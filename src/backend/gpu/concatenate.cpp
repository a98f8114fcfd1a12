#include "nn/merging.h"

#include "backend/columns.h"
#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/merge.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class ConcatenateOp final : public GpuOp {
 public:
  ConcatenateOp(const nn::ConcatenateSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), columns_(spec, context) {}

  void forward(const OpArgs& a) override {
    auto* to = a.out<std::byte>();
    for (std::size_t i = 0; i < columns_.widths.size(); to += bytes(columns_.widths[i]), ++i)
      kernel::copy_columns(at(a), type_, a.inputs[i], columns_.widths[i], to, columns_.total, a.rows * columns_.outer,
                           columns_.widths[i]);
  }
  void backward(const OpArgs& a) override {
    const auto* from = a.dy<const std::byte>();
    for (std::size_t i = 0; i < columns_.widths.size(); from += bytes(columns_.widths[i]), ++i)
      if (void* const dx = a.input_gradients[i]; dx != nullptr)
        kernel::copy_columns(at(a), type_, from, columns_.total, dx, columns_.widths[i], a.rows * columns_.outer,
                             columns_.widths[i]);
  }

 private:
  std::size_t bytes(std::int64_t elements) const { return static_cast<std::size_t>(elements) * size_of(type_); }

  const Columns columns_;
};

const RegisteredOp kConcatenate = op<nn::ConcatenateSpec, ConcatenateOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
