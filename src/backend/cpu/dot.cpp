#include "nn/merging.h"

#include "backend/device.h"
#include "backend/dot_products.h"
#include "kernels/cpu/dot.h"

namespace dptrain::backend::cpu {
namespace {

/// With `normalize` the lines that are 1 long are kept for backward, and their factors: [x1][x2][factors 1][factors 2].
class DotOp final : public Op {
 public:
  DotOp(const nn::DotSpec& spec, const OpContext& context, Device&)
      : products_(dot_products(spec, context)), normalize_(spec.normalize), rows_(context.rows) {
    for (int i = 0; i < 2; ++i) {
      place_[i] = floats_;
      floats_ += rows_ * products_.elements(i);
    }
    for (int i = 0; i < 2; ++i) {
      factors_[i] = floats_;
      floats_ += rows_ * products_.lines[i].lines;
    }
  }

  plan::Need need() const override {
    const auto bytes = normalize_ ? static_cast<std::uint64_t>(floats_) * sizeof(float) : 0;
    return {.saved = bytes, .scratch = bytes};
  }

  void forward(const OpArgs& a) override {
    const float* x[2] = {a.in(0), a.in(1)};
    if (normalize_) {
      auto* const room = static_cast<float*>(a.training ? a.saved : a.scratch);
      for (int i = 0; i < 2; ++i) {
        kernels::cpu::normalize_lines(products_.lines[i], x[i], a.rows, room + place_[i], room + factors_[i]);
        x[i] = room + place_[i];
      }
    }
    kernels::cpu::strided_product(products_.forward, x[0], x[1], a.rows, a.out());
  }

  void backward(const OpArgs& a) override {
    const auto* const room = static_cast<const float*>(a.saved);
    const auto x = [&](int i) { return normalize_ ? room + place_[i] : a.in(static_cast<std::size_t>(i)); };
    for (int i = 0; i < 2; ++i) {
      float* const dx = a.dx(static_cast<std::size_t>(i));
      if (dx == nullptr) continue;
      kernels::cpu::strided_product(products_.gradient[i], a.dy(), x(1 - i), a.rows, dx);
      if (normalize_) kernels::cpu::normalize_lines_backward(products_.lines[i], x(i), room + factors_[i], a.rows, dx);
    }
  }

  std::pair<double, double> flops_per_sample() const override {
    const kernels::StridedProduct& p = products_.forward;
    const double one = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.depth);
    return {one, 2 * one};
  }

 private:
  DotProducts products_;
  bool normalize_;
  std::int64_t rows_, floats_ = 0;
  std::int64_t place_[2] = {}, factors_[2] = {};
};

const RegisteredOp kCpuDot = op<nn::DotSpec, DotOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
