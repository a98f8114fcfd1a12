// Concatenate and Dot. The element-wise merges differ by backend: merging.cpp of backend/cpu and backend/gpu.

#include <cstdint>
#include <vector>

#include "backend/ops/kernel_op.h"
#include "backend/parts.h"
#include "kernels/geometry.h"
#include "nn/merging.h"
#include DPTRAIN_KERNELS(dot.h)
#include DPTRAIN_KERNELS(pad.h)

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

/// The axes before `axis` are rows; `axis` and those after it are one run of elements per input.
class ConcatenateOp final : public KernelOp {
 public:
  ConcatenateOp(const nn::ConcatenateSpec& spec, const OpContext& context, Device& device) : KernelOp(context, device) {
    const Shape& out = context.output();
    const int axis = spec.axis < 0 ? out.rank() + spec.axis : spec.axis - 1;  // Keras counts the batch as axis 0
    for (int d = 0; d < axis; ++d) outer_ *= out[d];
    for (std::size_t i = 0; i < context.step.inputs.size(); ++i)
      widths_.push_back(context.input(i).elements() / outer_);
    total_ = out.elements() / outer_;
  }

  void forward(const OpArgs& a) override {
    auto* to = a.out<std::byte>();
    for (std::size_t i = 0; i < widths_.size(); to += bytes(widths_[i]), ++i)
      kernel::copy_columns(launch(a), type_, a.in<Element>(i), widths_[i], elements(to), total_, a.rows * outer_,
                           widths_[i]);
  }
  void backward(const OpArgs& a) override {
    auto* from = a.dy<std::byte>();
    for (std::size_t i = 0; i < widths_.size(); from += bytes(widths_[i]), ++i)
      if (auto* const dx = a.dx<Element>(i); dx != nullptr)
        kernel::copy_columns(launch(a), type_, elements(from), total_, dx, widths_[i], a.rows * outer_, widths_[i]);
  }

 private:
  std::size_t bytes(std::int64_t n) const { return static_cast<std::size_t>(n) * size_of(type_); }

  std::int64_t outer_ = 1;            ///< rows per sample
  std::int64_t total_ = 0;            ///< elements per row of the output
  std::vector<std::int64_t> widths_;  ///< elements per row, by input
};

/// The product y [lines of x1, lines of x2], and those of the gradients, each of dy and the other input.
struct DotProducts {
  kernels::StridedLines lines[2];
  kernels::StridedProduct forward, gradient[2];

  /// Elements of one sample.
  std::int64_t elements(int which) const { return lines[which].lines * lines[which].length; }
};

DotProducts dot_products(const nn::DotSpec& spec, const OpContext& context) {
  const nn::DotOperand x = nn::dot_operand(spec, context.input(0), 0), z = nn::dot_operand(spec, context.input(1), 1);
  const auto lines = [](const nn::DotOperand& o) {
    return kernels::StridedLines{
        .lines = o.lines, .length = o.length, .line_stride = o.line_stride, .stride = o.stride};
  };
  return {.lines = {lines(x), lines(z)},
          .forward = {.m = x.lines,
                      .n = z.lines,
                      .depth = x.length,
                      .a_i = x.line_stride,
                      .a_k = x.stride,
                      .b_j = z.line_stride,
                      .b_k = z.stride,
                      .c_i = z.lines,
                      .c_j = 1},
          .gradient = {{.m = x.lines,
                        .n = x.length,
                        .depth = z.lines,
                        .a_i = z.lines,
                        .a_k = 1,
                        .b_j = z.stride,
                        .b_k = z.line_stride,
                        .c_i = x.line_stride,
                        .c_j = x.stride},
                       {.m = z.lines,
                        .n = z.length,
                        .depth = x.lines,
                        .a_i = 1,
                        .a_k = z.lines,
                        .b_j = x.stride,
                        .b_k = x.line_stride,
                        .c_i = z.line_stride,
                        .c_j = z.stride}}};
}

/// With `normalize` the lines that are 1 long are saved for backward, and their factors: [x1][x2][factors 1][factors
/// 2].
class DotOp final : public KernelOp {
 public:
  DotOp(const nn::DotSpec& spec, const OpContext& context, Device& device)
      : KernelOp(context, device), products_(dot_products(spec, context)), normalize_(spec.normalize) {
    if (!normalize_) return;
    for (int i = 0; i < 2; ++i) place_[i] = take(context.rows * products_.elements(i), type_);
    for (int i = 0; i < 2; ++i) factors_[i] = take(context.rows * products_.lines[i].lines, DType::kF32);
  }

  plan::Need need() const override { return {.saved = bytes_, .scratch = bytes_}; }

  void forward(const OpArgs& a) override {
    const Element* x[2] = {a.in<Element>(0), a.in<Element>(1)};
    if (normalize_) {
      auto* const memory = static_cast<std::byte*>(a.training ? a.saved : a.scratch);
      for (int i = 0; i < 2; ++i) {
        Element* const lines = elements(memory + place_[i]);
        kernel::normalize_lines(launch(a), type_, products_.lines[i], x[i], a.rows, lines, factors(memory, i));
        x[i] = lines;
      }
    }
    kernel::strided_product(launch(a), type_, products_.forward, x[0], x[1], a.rows, a.out<Element>());
  }

  void backward(const OpArgs& a) override {
    auto* const memory = static_cast<std::byte*>(a.saved);
    const auto x = [&](int i) -> const Element* {
      return normalize_ ? elements(memory + place_[i]) : a.in<Element>(static_cast<std::size_t>(i));
    };
    for (int i = 0; i < 2; ++i) {
      auto* const dx = a.dx<Element>(static_cast<std::size_t>(i));
      if (dx == nullptr) continue;
      kernel::strided_product(launch(a), type_, products_.gradient[i], a.dy<Element>(), x(1 - i), a.rows, dx);
      if (normalize_)
        kernel::normalize_lines_backward(launch(a), type_, products_.lines[i], x(i), factors(memory, i), a.rows, dx);
    }
  }

  std::pair<double, double> flops_per_sample() const override {
    const kernels::StridedProduct& p = products_.forward;
    const double one = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.depth);
    return {one, 2 * one};
  }

 private:
  /// Place of n more numbers. CPU kernels need no alignment.
  std::uint64_t take(std::int64_t n, DType type) {
    const std::uint64_t place = bytes_;
    bytes_ += kIsCpu ? static_cast<std::uint64_t>(n) * size_of(type) : aligned_part(n, type);
    return place;
  }
  float* factors(std::byte* memory, int i) const { return reinterpret_cast<float*>(memory + factors_[i]); }

  DotProducts products_;
  bool normalize_;
  std::uint64_t bytes_ = 0;
  std::uint64_t place_[2] = {}, factors_[2] = {};
};

const RegisteredOp kConcatenate = op<nn::ConcatenateSpec, ConcatenateOp>(kKind);
const RegisteredOp kDot = op<nn::DotSpec, DotOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
