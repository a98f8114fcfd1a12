#include "nn/reshaping.h"

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/permute.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class PermuteOp final : public GpuOp {
 public:
  PermuteOp(const nn::PermuteSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device),
        there_(context.input(0).dims(), from_zero(spec.dims)),
        back_(context.output().dims(), inverse(from_zero(spec.dims))) {}

  void forward(const OpArgs& a) override { kernel::permute(at(a), type_, there_, a.inputs[0], a.rows, a.out<void>()); }
  void backward(const OpArgs& a) override {
    kernel::permute(at(a), type_, back_, a.dy<void>(), a.rows, a.input_gradients[0]);
  }

 private:
  static std::vector<int> from_zero(const Shape& dims) {
    std::vector<int> axes;
    for (const std::int64_t axis : dims.dims()) axes.push_back(static_cast<int>(axis - 1));
    return axes;
  }
  static std::vector<int> inverse(const std::vector<int>& axes) {
    std::vector<int> result(axes.size());
    for (std::size_t d = 0; d < axes.size(); ++d) result[static_cast<std::size_t>(axes[d])] = static_cast<int>(d);
    return result;
  }

  kernel::Permutation there_, back_;
};

const RegisteredOp kPermute = op<nn::PermuteSpec, PermuteOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
