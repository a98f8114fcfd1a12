#include "backend/cpu/conv/conv_passes.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/winograd.h"

namespace dptrain::backend::cpu {
namespace {

namespace cpu = kernels::cpu;

bool fits_winograd(const ConvShape& s) {
  return !s.strided() && !s.dilated() && s.groups == 1 && s.kernel_h == s.kernel_w &&
         (s.kernel_h == 3 || s.kernel_h == 5) && std::max(s.pad_top, s.pad_left) < s.kernel_h;
}

/// Throws if more threads run the pass than it was made for.
void check_threads(int threads) {
  if (cpu::thread_count() > threads)
    throw Error(ErrorKind::kDevice,
                fmt::format("a convolution made for {} threads runs on {}", threads, cpu::thread_count()));
}

class WinogradConv final : public ConvPass {
 public:
  WinogradConv(ConvPassKind kind, const ConvShape& s)
      : kind_(kind),
        rows_(s.rows),
        threads_(cpu::thread_count()),
        bias_(s.bias),
        shape_{s, s.relu, s.pool},
        floats_(workspace()) {}

  std::string name() const override {
    return fmt::format("winograd {} {} nhwc", cpu::winograd_tile(shape_), cpu::isa_name());
  }
  std::size_t scratch() const override { return static_cast<std::size_t>(floats_) * sizeof(float); }

  std::unique_ptr<ConvPass> fuse_with(const ConvPass& data) const override {
    if (dynamic_cast<const WinogradConv*>(&data) == nullptr) return nullptr;
    const std::int64_t floats = cpu::winograd_backward_workspace(shape_, rows_, threads_);
    if (floats == 0) return nullptr;
    auto both = std::make_unique<WinogradConv>(*this);
    both->computes_both_ = true;
    both->floats_ = floats;
    return both;
  }

  void run(const ConvTensors& t, void* scratch) override {
    check_threads(threads_);
    auto* const workspace = static_cast<float*>(scratch);
    float* const dbias = bias_ ? t.dbias : nullptr;
    if (computes_both_)
      return cpu::winograd_backward(shape_, t.x, t.dy, t.argmax, t.weights, rows_, workspace, t.dx, t.dweights, dbias);
    switch (kind_) {
      case ConvPassKind::kForward:
        return cpu::winograd_forward(shape_, t.x, t.weights, bias_ ? t.bias : nullptr, rows_, workspace, t.y, t.argmax);
      case ConvPassKind::kBackwardData:
        return cpu::winograd_backward_data(shape_, t.dy, t.argmax, t.weights, rows_, workspace, t.dx);
      case ConvPassKind::kBackwardWeights:
        return cpu::winograd_backward_weights(shape_, t.x, t.dy, t.argmax, rows_, workspace, t.dweights, dbias);
    }
  }

 private:
  std::int64_t workspace() const {
    switch (kind_) {
      case ConvPassKind::kForward: return cpu::winograd_forward_workspace(shape_, rows_, threads_);
      case ConvPassKind::kBackwardData: return cpu::winograd_backward_data_workspace(shape_, rows_, threads_);
      case ConvPassKind::kBackwardWeights: return cpu::winograd_backward_weights_workspace(shape_, rows_, threads_);
    }
    return 0;
  }

  ConvPassKind kind_;
  bool computes_both_ = false;  // both gradients in one pass (fuse_with)
  std::int64_t rows_;
  int threads_;
  bool bias_;
  cpu::WinogradShape shape_;
  std::int64_t floats_;
};

}  // namespace

std::unique_ptr<ConvPass> make_winograd_conv(ConvPassKind kind, const ConvShape& shape) {
  if (!fits_winograd(shape)) return nullptr;
  return std::make_unique<WinogradConv>(kind, shape);
}

}  // namespace dptrain::backend::cpu
