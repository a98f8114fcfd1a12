#include "backend/conv_lstm2d.h"
#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/dropout.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/frames.h"
#include "kernels/cuda/recurrent.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

class GpuConvLSTM2DOp final : public ConvLSTM2DOp {
 public:
  GpuConvLSTM2DOp(const nn::ConvLSTM2DSpec& spec, const OpContext& context, Device& device)
      : ConvLSTM2DOp(spec, context, device) {}

 protected:
  void take_step(const OpArgs& a, const Step& step) override {
    kernel::lstm_step_forward(launch(a), type_, one_step(step.pixels), 0,
                              {.gates = step.gates,
                               .products = step.products,
                               .h = step.h,
                               .c = step.c,
                               .hidden = nullptr,
                               .cell = step.cell,
                               .squashed = step.squashed,
                               .y = step.y});
  }
  void go_back(const OpArgs& a, const StepBack& step) override {
    kernel::lstm_step_backward(launch(a), type_, one_step(step.pixels), 0,
                               {.gates = step.gates,
                                .cell = nullptr,
                                .squashed = step.squashed,
                                .c0 = step.before,
                                .dy = step.dy,
                                .dh = step.dh,
                                .dc = step.dc,
                                .dz = step.gates});
  }
  void by_step(const OpArgs& a, const kernels::FramesShape& shape, const void* from, void* to) override {
    kernel::frames_by_step(launch(a), type_, shape, from, to);
  }
  void by_row(const OpArgs& a, const kernels::FramesShape& shape, const void* from, void* to) override {
    kernel::frames_by_row(launch(a), type_, shape, from, to);
  }
  void drop(const OpArgs& a, const Draw& draw, const void* x, std::int64_t positions, std::int64_t width, float*,
            void* y) override {
    const kernel::Dropout dropout{.rate = draw.rate, .seed = seed_, .layer = draw.stream, .first_row = a.first_row};
    kernel::spatial_dropout(launch(a), type_, dropout, a.state, x, a.rows, positions, width, y);
  }
  void copy(const OpArgs& a, const void* x, void* y, std::int64_t n) override {
    kernel::copy(launch(a), type_, x, y, n);
  }

 private:
  kernel::Launch launch(const OpArgs& a) const { return static_cast<GpuDevice&>(device_).launch(*a.stream); }
  /// Every pixel is a row of one step.
  kernel::RecurrentSteps one_step(std::int64_t pixels) const {
    return {.rows = pixels,
            .steps = 1,
            .units = spec_.units,
            .gates = 4,
            .activation = spec_.activation,
            .recurrent_activation = spec_.recurrent_activation};
  }
};

const RegisteredOp kConvLSTM2D =
    op<nn::ConvLSTM2DSpec, GpuConvLSTM2DOp>(kKind, {.weight_order_of = conv_lstm2d_weight_order});

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
