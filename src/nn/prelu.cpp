#include "nn/prelu.h"

#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

Shape output(const PReLUSpec& spec, std::span<const Shape> in) {
  for (const std::int64_t axis : spec.shared_axes.dims())
    if (axis > in[0].rank())
      throw LayerError(fmt::format("shared_axes {} is not one of the axes of {{0}}, which is {}: 1 to {}", axis,
                                   in[0].str(), in[0].rank()));
  return in[0];
}

std::vector<WeightDef> weights(const PReLUSpec& spec, std::span<const Shape> in) {
  std::vector<std::int64_t> dims = in[0].dims();
  for (const std::int64_t axis : spec.shared_axes.dims()) dims[static_cast<std::size_t>(axis - 1)] = 1;
  return {{.name = "alpha",
           .shape = Shape(std::move(dims)),
           .initializer = spec.alpha_initializer,
           .regularizer = spec.alpha_regularizer}};
}

const Registered kPReLU =
    layer<PReLUSpec>("PReLU")
        .key(key("alpha_initializer", &PReLUSpec::alpha_initializer))
        .key(key("alpha_regularizer", &PReLUSpec::alpha_regularizer))
        .key(key("shared_axes", &PReLUSpec::shared_axes).at_least(1))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .output(output)
        .weights(weights)
        .backward_reads(BackwardReads{.input = true});  // alpha may be negative: the output does not say where x stood

}  // namespace
}  // namespace dptrain::nn
