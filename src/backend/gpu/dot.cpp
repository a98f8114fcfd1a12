#include "nn/merging.h"

#include "backend/dot_products.h"
#include "backend/gpu/conv_sets.h"
#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/dot.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// With `normalize` the lines that are 1 long are kept for backward, and their factors: [x1][x2][factors 1][factors 2].
class DotOp final : public GpuOp {
 public:
  DotOp(const nn::DotSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), products_(dot_products(spec, context)), normalize_(spec.normalize) {
    for (int i = 0; i < 2; ++i) {
      place_[i] = bytes_;
      bytes_ += aligned_part(context.rows * products_.elements(i), type_);
    }
    for (int i = 0; i < 2; ++i) {
      factors_[i] = bytes_;
      bytes_ += aligned_part(context.rows * products_.lines[i].lines, DType::kF32);
    }
  }

  plan::Need need() const override { return {.saved = normalize_ ? bytes_ : 0, .scratch = normalize_ ? bytes_ : 0}; }

  void forward(const OpArgs& a) override {
    const void* x[2] = {a.in<void>(0), a.in<void>(1)};
    if (normalize_) {
      auto* const room = static_cast<std::byte*>(a.training ? a.saved : a.scratch);
      for (int i = 0; i < 2; ++i) {
        kernel::normalize_lines(at(a), type_, products_.lines[i], x[i], a.rows, room + place_[i], factors(room, i));
        x[i] = room + place_[i];
      }
    }
    kernel::strided_product(at(a), type_, products_.forward, x[0], x[1], a.rows, a.out<void>());
  }

  void backward(const OpArgs& a) override {
    auto* const room = static_cast<std::byte*>(a.saved);
    const auto x = [&](int i) -> const void* {
      return normalize_ ? room + place_[i] : a.in<void>(static_cast<std::size_t>(i));
    };
    for (int i = 0; i < 2; ++i) {
      void* const dx = a.dx<void>(static_cast<std::size_t>(i));
      if (dx == nullptr) continue;
      kernel::strided_product(at(a), type_, products_.gradient[i], a.dy<void>(), x(1 - i), a.rows, dx);
      if (normalize_)
        kernel::normalize_lines_backward(at(a), type_, products_.lines[i], x(i), factors(room, i), a.rows, dx);
    }
  }

  std::pair<double, double> flops_per_sample() const override {
    const kernels::StridedProduct& p = products_.forward;
    const double one = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.depth);
    return {one, 2 * one};
  }

 private:
  float* factors(std::byte* room, int i) const { return reinterpret_cast<float*>(room + factors_[i]); }

  DotProducts products_;
  bool normalize_;
  std::uint64_t bytes_ = 0;
  std::uint64_t place_[2] = {}, factors_[2] = {};
};

const RegisteredOp kDot = op<nn::DotSpec, DotOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
