#include "nn/masking.h"

#include "nn/layer.h"

namespace dptrain::nn {
namespace {

std::vector<OutputDef> outputs(const MaskingSpec&, std::span<const TensorDef> in) {
  if (in[0].shape.rank() < 2) throw LayerError("{0} is " + in[0].shape.str() + ", expected steps of features");
  std::vector<std::int64_t> steps = in[0].shape.dims();
  steps.pop_back();
  return {{"", in[0].shape, DType::kF32}, mask_output(Shape(std::move(steps)))};
}

const Registered kMasking = layer<MaskingSpec>("Masking")
                                .positional(key("mask_value", &MaskingSpec::mask_value))
                                .inputs(1)
                                .outputs(outputs)
                                .masks(MaskRule::kProduces)
                                .backward_reads(BackwardReads{.output = true});

}  // namespace
}  // namespace dptrain::nn
