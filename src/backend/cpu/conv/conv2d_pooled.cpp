#include "backend/cpu/conv/conv_passes.h"

#include <utility>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/pool.h"

namespace dptrain::backend::cpu {
namespace {

constexpr std::size_t kPooledAlign = 64;

class PooledPass final : public ConvPass {
 public:
  PooledPass(ConvPassKind kind, const ConvShape& s, std::unique_ptr<ConvPass> pass)
      : forward_(kind == ConvPassKind::kForward),
        relu_(s.relu),
        rows_(s.rows),
        window_{.in_h = s.out_h,
                .in_w = s.out_w,
                .channels = s.out_channels,
                .out_h = s.out_h / 2,
                .out_w = s.out_w / 2,
                .kernel_h = 2,
                .kernel_w = 2,
                .stride_h = 2,
                .stride_w = 2,
                .pad_top = 0,
                .pad_left = 0},
        whole_bytes_(aligned(static_cast<std::size_t>(s.rows * s.out_h * s.out_w * s.out_channels) * sizeof(float))),
        pass_(std::move(pass)) {}

  std::string name() const override { return pass_->name() + ", pooling apart"; }
  std::size_t scratch() const override { return whole_bytes_ + pass_->scratch(); }

  void run(const ConvTensors& t, void* scratch) override {
    auto* const whole = static_cast<float*>(scratch);
    void* const rest = static_cast<std::byte*>(scratch) + whole_bytes_;
    ConvTensors inner = t;
    if (forward_) {
      inner.y = whole;
      pass_->run(inner, rest);
      kernels::cpu::max_pool_forward({}, DType::kF32, window_, whole, rows_, t.y, t.argmax);
      if (relu_ && t.argmax != nullptr) mark_cut(t.y, t.argmax);
      return;
    }
    kernels::cpu::max_pool_backward({}, DType::kF32, window_, t.dy, t.argmax, nullptr, rows_, whole);
    inner.dy = whole;
    pass_->run(inner, rest);
  }

 private:
  static std::size_t aligned(std::size_t bytes) { return (bytes + kPooledAlign - 1) / kPooledAlign * kPooledAlign; }

  /// Marks windows in which ReLU blocked all values: no position receives the gradient.
  void mark_cut(const float* y, std::uint8_t* argmax) const {
    kernels::cpu::parallel_ranges(rows_ * window_.out_h * window_.out_w * window_.channels,
                                  kernels::cpu::kPieceElements, [&](std::int64_t begin, std::int64_t end) {
                                    for (std::int64_t i = begin; i < end; ++i)
                                      if (!(y[i] > 0)) argmax[i] = kernels::kNoArgmax;
                                  });
  }

  bool forward_, relu_;
  std::int64_t rows_;
  kernels::cpu::PoolWindow window_;  // from the convolution's output
  std::size_t whole_bytes_;
  std::unique_ptr<ConvPass> pass_;
};

}  // namespace

std::unique_ptr<ConvPass> with_pooling(ConvPassKind kind, const ConvShape& shape, std::unique_ptr<ConvPass> pass) {
  return std::make_unique<PooledPass>(kind, shape, std::move(pass));
}

}  // namespace dptrain::backend::cpu
