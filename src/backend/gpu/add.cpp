#include "nn/merging.h"

#include "backend/gpu/gpu_op.h"
#include "backend/gpu/merge_shapes.h"
#include "backend/ops/activations.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// A ReLU epilogue is part of both passes, and both gradients of a sum of two are one; another one is a pass of its
/// own.
class AddOp final : public GpuOp {
 public:
  AddOp(const nn::AddSpec&, const OpContext& context, Device& device)
      : GpuOp(context, device), merge_(merge_of(context)), epilogue_(context) {}

  void forward(const OpArgs& a) override {
    kernel::add_forward(at(a), type_, merge_, a.inputs.data(), a.rows, epilogue_.is_relu(), a.out<void>());
    if (!epilogue_.is_relu()) epilogue_.apply(at(a), a.out<void>(), a.rows);
  }

  void backward(const OpArgs& a) override {
    const bool masks = epilogue_.is_relu() && epilogue_.to_undo();
    if (masks && merge_.inputs == 2 && merge_.trivial(0) && merge_.trivial(1) && a.input_gradients[0] != nullptr &&
        a.input_gradients[1] != nullptr)
      return kernel::add_relu_backward(at(a), type_, a.out<void>(), a.dy<void>(), a.rows * merge_.output_elements,
                                       a.input_gradients[0], a.input_gradients[1]);
    if (!masks) epilogue_.undo(at(a), a.out<void>(), a.dy<void>(), a.rows);
    for (int i = 0; i < merge_.inputs; ++i)
      if (void* const dx = a.input_gradients[static_cast<std::size_t>(i)]; dx != nullptr)
        kernel::add_backward(at(a), type_, merge_, i, masks ? a.out<void>() : nullptr, a.dy<void>(), a.rows, dx);
  }

 private:
  kernel::Merge merge_;
  Epilogue epilogue_;
};

const RegisteredOp kAdd = op<nn::AddSpec, AddOp>(kKind, {.fuses = {takes_activation()}});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
