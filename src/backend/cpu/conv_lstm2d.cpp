#include "backend/conv_lstm2d.h"
#include "backend/cpu/cpu_device.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/frames.h"
#include "kernels/cpu/lstm_gates.h"

namespace dptrain::backend::cpu {
namespace {

class CpuConvLSTM2DOp final : public ConvLSTM2DOp {
 public:
  CpuConvLSTM2DOp(const nn::ConvLSTM2DSpec& spec, const OpContext& context, Device& device)
      : ConvLSTM2DOp(spec, context, device) {}

 protected:
  void take_step(const OpArgs&, const Step& step) override {
    kernels::cpu::lstm_gates_forward(gates_of(step.pixels), {.gates = of(step.gates),
                                                             .products = of(step.products),
                                                             .h = of(step.h),
                                                             .c = step.c,
                                                             .cell = step.cell,
                                                             .squashed = step.squashed,
                                                             .y = of(step.y)});
  }
  void go_back(const OpArgs&, const StepBack& step) override {
    kernels::cpu::lstm_gates_backward(gates_of(step.pixels), {.gates = of(step.gates),
                                                              .before = step.before,
                                                              .squashed = step.squashed,
                                                              .dy = of(step.dy),
                                                              .dh = step.dh,
                                                              .dc = step.dc});
  }
  void by_step(const OpArgs&, const kernels::FramesShape& shape, const void* from, void* to) override {
    kernels::cpu::frames_by_step(shape, of(from), of(to));
  }
  void by_row(const OpArgs&, const kernels::FramesShape& shape, const void* from, void* to) override {
    kernels::cpu::frames_by_row(shape, of(from), of(to));
  }
  void drop(const OpArgs& a, const Draw& draw, const void* x, std::int64_t positions, std::int64_t width,
            float* factors, void* y) override {
    const kernels::cpu::Dropout dropout{.rate = draw.rate,
                                        .seed = seed_,
                                        .layer = draw.stream,
                                        .step = static_cast<std::uint64_t>(a.step),
                                        .first_row = a.first_row};
    kernels::cpu::spatial_dropout({}, DType::kF32, dropout, of(x), a.rows, positions, width, factors, of(y));
  }
  void copy(const OpArgs&, const void* x, void* y, std::int64_t n) override {
    kernels::cpu::copy({}, DType::kF32, of(x), of(y), n);
  }

 private:
  kernels::cpu::LstmGates gates_of(std::int64_t pixels) const {
    return {pixels, spec_.units, spec_.activation, spec_.recurrent_activation};
  }
  static const float* of(const void* x) { return static_cast<const float*>(x); }
  static float* of(void* x) { return static_cast<float*>(x); }
};

const RegisteredOp kCpuConvLSTM2D = op<nn::ConvLSTM2DSpec, CpuConvLSTM2DOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
