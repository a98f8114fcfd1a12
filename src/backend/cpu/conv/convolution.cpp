#include "backend/cpu/conv/convolution.h"

#include <algorithm>

#include "backend/cpu/conv/conv_key.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::backend::cpu {
namespace {

constexpr std::array kKinds{ConvPassKind::kForward, ConvPassKind::kBackwardData, ConvPassKind::kBackwardWeights};

std::size_t index(ConvPassKind kind) { return static_cast<std::size_t>(kind); }

}  // namespace

Convolution::Convolution(const ConvShape& sample, Wanted wanted, const RuntimeOptions& options, Dnnl& dnnl)
    : sample_(sample), wanted_(wanted), options_(options), dnnl_(dnnl) {
  sample_.bfloat16 = options.bfloat16_products;
}

bool Convolution::wants(ConvPassKind kind) const {
  return std::array{wanted_.forward, wanted_.data, wanted_.weights}[index(kind)];
}

std::size_t Convolution::Passes::scratch() const {
  std::size_t bytes = 0;
  for (const ChosenConv& chosen : of_kind)
    if (chosen.pass) bytes = std::max(bytes, chosen.pass->scratch());
  if (backward) bytes = std::max(bytes, backward->scratch());
  return bytes;
}

Convolution::Passes Convolution::make(std::int64_t rows) const {
  ConvShape shape = sample_;
  shape.rows = rows;
  Passes passes;
  for (const ConvPassKind kind : kKinds)
    if (wants(kind)) passes.of_kind[index(kind)] = choose_conv_pass(kind, shape, options_, dnnl_);
  const auto& [forward, data, weights] = passes.of_kind;
  if (data.pass && weights.pass) passes.backward = weights.pass->fuse_with(*data.pass);
  return passes;
}

std::string Convolution::name(ConvPassKind kind, std::int64_t rows) const {
  const ChosenConv& chosen = passes_.at(rows).of_kind[index(kind)];
  return chosen.pass->name() + (chosen.tuned ? ", tuned" : "");
}

std::string Convolution::describe(std::int64_t rows) const {
  std::vector<std::string> parts;
  for (const ConvPassKind kind : kKinds)
    if (wants(kind)) parts.push_back(fmt::format("{} {}", name_of(kind), name(kind, rows)));
  if (passes_.at(rows).backward) parts.emplace_back("both gradients in one pass");
  return join(parts, "; ");
}

bool Convolution::supports_fused_passes(ConvPassKind kind) const {
  return wants(kind) &&
         passes_.all([&](const Passes& p) { return p.of_kind[index(kind)].pass->supports_fused_passes(); });
}

double Convolution::flops() const { return flops_of(sample_); }

void Convolution::run(ConvPassKind kind, std::int64_t rows, const ConvTensors& tensors, void* scratch) {
  Passes& passes = passes_.at(rows);
  if ((tensors.prologue != nullptr || tensors.epilogue != nullptr) &&
      !passes.of_kind[index(kind)].pass->supports_fused_passes())
    throw Error(ErrorKind::kInternal, "this convolution cannot be fused with passes of other ops");
  passes.of_kind[index(kind)].pass->run(tensors, passes_.scratch(passes, scratch));
}

void Convolution::run_backward(std::int64_t rows, const ConvTensors& tensors, void* scratch) {
  Passes& passes = passes_.at(rows);
  if (passes.backward && tensors.dweights != nullptr && tensors.dx != nullptr)
    return passes.backward->run(tensors, passes_.scratch(passes, scratch));
  if (tensors.dweights != nullptr) run(ConvPassKind::kBackwardWeights, rows, tensors, scratch);
  if (tensors.dx != nullptr) run(ConvPassKind::kBackwardData, rows, tensors, scratch);
}

}  // namespace dptrain::backend::cpu
