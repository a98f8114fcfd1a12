#include "backend/cpu/conv/conv_passes.h"

#include "core/error.h"
#include "core/format.h"
#include "kernels/cpu/first_conv.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"

namespace dptrain::backend::cpu {
namespace {

constexpr std::int64_t kMaxKernel = 7;
constexpr std::int64_t kMaxStride = 2;

bool fits_first(const ConvShape& s) {
  return s.groups == 1 && !s.dilated() && s.in_channels <= kernels::cpu::kFirstConvChannels &&
         std::max(s.kernel_h, s.kernel_w) <= kMaxKernel && std::max(s.stride_h, s.stride_w) <= kMaxStride;
}

class FirstConv : public ConvPass {
 public:
  explicit FirstConv(const ConvShape& shape) : shape_(shape) {}

  std::string name() const override {
    return fmt::format("direct {}x{} {}ch{} {} nhwc", shape_.kernel_h, shape_.kernel_w, shape_.in_channels,
                       shape_.pool ? " pool" : "", kernels::cpu::isa_name());
  }
  std::size_t scratch() const override { return static_cast<std::size_t>(floats(slots_)) * sizeof(float); }

 protected:
  virtual std::int64_t floats(int slots) const = 0;
  /// Throws if more threads run the pass than its scratch was sized for.
  float* aligned_scratch(void* scratch) const {
    if (kernels::cpu::thread_count() > slots_)
      throw Error(ErrorKind::kInternal, "a convolution made for fewer threads than run it");
    return static_cast<float*>(scratch);
  }

  ConvShape shape_;
  int slots_ = kernels::cpu::thread_count();
};

class Forward final : public FirstConv {
 public:
  using FirstConv::FirstConv;
  void run(const ConvTensors& t, void* scratch) override {
    if (shape_.pool)
      kernels::cpu::first_conv_pool_forward(shape_, t.x, t.weights, t.bias, shape_.relu, shape_.rows,
                                            aligned_scratch(scratch), t.y, t.argmax);
    else
      kernels::cpu::first_conv_forward(shape_, t.x, t.weights, t.bias, shape_.relu, shape_.rows,
                                       aligned_scratch(scratch), t.y);
  }

 private:
  std::int64_t floats(int slots) const override { return kernels::cpu::first_conv_workspace(shape_, slots); }
};

class BackwardWeights final : public FirstConv {
 public:
  using FirstConv::FirstConv;
  void run(const ConvTensors& t, void* scratch) override {
    kernels::cpu::first_conv_backward_weights(shape_, t.x, t.dy, shape_.pool ? t.argmax : nullptr, shape_.rows,
                                              aligned_scratch(scratch), t.dweights, t.dbias);
  }

 private:
  std::int64_t floats(int slots) const override {
    return kernels::cpu::first_conv_gradient_workspace(shape_, shape_.pool, shape_.rows, slots);
  }
};

}  // namespace

std::unique_ptr<ConvPass> make_first_conv(ConvPassKind kind, const ConvShape& shape) {
  if (!fits_first(shape)) return nullptr;
  switch (kind) {
    case ConvPassKind::kForward: return std::make_unique<Forward>(shape);
    case ConvPassKind::kBackwardWeights: return std::make_unique<BackwardWeights>(shape);
    case ConvPassKind::kBackwardData: return nullptr;  // a first layer's input has no gradient
  }
  return nullptr;
}

}  // namespace dptrain::backend::cpu
