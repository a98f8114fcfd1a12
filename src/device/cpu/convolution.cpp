#include "device/cpu/convolution.h"

#include <algorithm>

#include "core/format.h"
#include "core/text.h"
#include "device/cpu/conv2d_choice.h"

namespace dptrain::device::cpu {
namespace {

constexpr std::array kKinds{ConvPassKind::kForward, ConvPassKind::kBackwardData, ConvPassKind::kBackwardWeights};
constexpr std::array kWords{"forward", "data", "weights"};

std::size_t index(ConvPassKind kind) { return static_cast<std::size_t>(kind); }

}  // namespace

Convolution::Convolution(const ConvShape& sample, Wanted wanted, ConvChoice choice, Dnnl& dnnl)
    : sample_(sample), wanted_(wanted), choice_(choice), dnnl_(dnnl) {}

bool Convolution::wants(ConvPassKind kind) const {
  return std::array{wanted_.forward, wanted_.data, wanted_.weights}[index(kind)];
}

std::size_t Convolution::Passes::scratch() const {
  std::size_t bytes = 0;
  for (const auto& pass : of_kind)
    if (pass) bytes = std::max(bytes, pass->scratch());
  return bytes;
}

Convolution::Passes Convolution::make(std::int64_t rows) const {
  ConvShape shape = sample_;
  shape.rows = rows;
  Passes passes;
  for (const ConvPassKind kind : kKinds)
    if (wants(kind)) passes.of_kind[index(kind)] = choose_conv_pass(kind, shape, choice_, dnnl_);
  return passes;
}

std::string Convolution::name(ConvPassKind kind, std::int64_t rows) const {
  return passes_.at(rows).of_kind[index(kind)]->name();
}

std::string Convolution::describe(std::int64_t rows) const {
  std::vector<std::string> parts;
  for (const ConvPassKind kind : kKinds)
    if (wants(kind)) parts.push_back(fmt::format("{} {}", kWords[index(kind)], name(kind, rows)));
  return join(parts, "; ");
}

double Convolution::flops() const {
  const ConvShape& s = sample_;
  return 2.0 * static_cast<double>(s.out_h * s.out_w * s.out_channels) *
         static_cast<double>(s.kernel.h * s.kernel.w * s.in_channels / s.groups);
}

void Convolution::run(ConvPassKind kind, std::int64_t rows, const ConvTensors& tensors, void* scratch) {
  Passes& passes = passes_.at(rows);
  passes.of_kind[index(kind)]->run(tensors, passes_.scratch(passes, scratch));
}

}  // namespace dptrain::device::cpu
