#include "nn/dense.h"

#include "nn/geometry.h"

namespace dptrain::nn {
namespace {

const KernelsAndBias<DenseSpec> kDenseKernels({{"kernel", &DenseSpec::kernel_initializer,
                                                &DenseSpec::kernel_regularizer}});

Shape output(const DenseSpec& spec, std::span<const Shape> in) {
  if (in[0].rank() == 0) throw LayerError("{0} is a scalar, expected at least one axis");
  std::vector<std::int64_t> dims = in[0].dims();
  dims.back() = spec.units;
  return Shape(std::move(dims));
}

std::vector<WeightDef> weights(const DenseSpec& spec, std::span<const Shape> in) {
  return kDenseKernels.weights(spec, {Shape{in[0].back(), spec.units}}, spec.units);
}

const Registered kDense =
    kDenseKernels
        .add_to(layer<DenseSpec>("Dense").positional(
            key("units", &DenseSpec::units).required().at_least(1).check(Bounded{}).doc("number of outputs")))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .output(output)
        .weights(weights)
        .example("units: 9, activation: relu", {{4}});

}  // namespace
}  // namespace dptrain::nn
