#include "nn/activations.h"

#include "core/format.h"
#include "nn/geometry.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kActivation =
    layer<ActivationSpec>("Activation")
        .doc("any -> same; applies the function to each value, softmax and log_softmax to the last axis")
        .positional(key("activation", &ActivationSpec::activation).required().doc("function that is applied"))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .same_shape()
        .backward_reads([](const ActivationSpec& spec) {
          const bool from_output = backward_from_output(spec.activation);
          return BackwardReads{.input = !from_output, .output = from_output && spec.activation != Activation::kLinear};
        });

const Registered kELU =
    layer<ELUSpec>("ELU")
        .doc("any -> same; x above 0, else `alpha * (e^x - 1)`")
        .positional(key("alpha", &ELUSpec::alpha)
                        .at_least(0)
                        .doc("factor of the exponential below zero; large negative values give -alpha"))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .same_shape()
        .backward_reads(BackwardReads{.output = true})  // alpha is not negative: signs of input and output agree
        .example("", {{7, 6, 4}});

const Registered kLeakyReLU =
    layer<LeakyReLUSpec>("LeakyReLU")
        .doc("any -> same; x above 0, else `negative_slope * x`")
        .positional(
            key("negative_slope", &LeakyReLUSpec::negative_slope).alias("alpha").at_least(0).doc("slope below zero"))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .same_shape()
        .backward_reads(BackwardReads{.output = true})  // the slope is not negative: signs of input and output agree
        .example("", {{7, 6, 4}});

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
        .doc("any -> same; x above 0, else x times a trained slope")
        .key(key("alpha_initializer", &PReLUSpec::alpha_initializer).doc("initializer of the slopes"))
        .key(key("alpha_regularizer", &PReLUSpec::alpha_regularizer).doc("penalty on the slopes, added to the loss"))
        .key(key("shared_axes", &PReLUSpec::shared_axes)
                 .at_least(1)
                 .doc("axes along which the slopes are shared, counted from 1; [1, 2] gives an image one slope per "
                      "channel"))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .output(output)
        .weights(weights)
        .backward_reads(BackwardReads{.input = true})  // alpha may be negative: the output does not determine x
        .example("alpha_initializer: {Constant: 0.2}, shared_axes: [1, 2]", {{7, 6, 4}})
        .example("", {{7, 6, 5}});

const Registered kReLU =
    layer<ReLUSpec>("ReLU")
        .doc("any -> same; x above `threshold`, at most `max_value`, else `negative_slope * (x - threshold)`")
        .positional(key("max_value", &ReLUSpec::max_value).at_least(0).doc("largest output; none: no limit"))
        .key(key("negative_slope", &ReLUSpec::negative_slope).at_least(0).doc("slope below the threshold"))
        .key(key("threshold", &ReLUSpec::threshold).at_least(0).doc("values above it pass unchanged"))
        .inputs(1)
        .masks(MaskRule::kPasses)
        .same_shape()
        .backward_reads(BackwardReads{.input = true})  // with a threshold the output does not determine the input
        .example("negative_slope: 0.1, max_value: 2", {{7, 6, 4}});

Shape output(const SoftmaxSpec& spec, std::span<const Shape> in) {
  require_last_axis(spec.axis, in[0]);
  return in[0];
}

const Registered kSoftmax = layer<SoftmaxSpec>("Softmax")
                                .doc("any -> same; softmax over the last axis")
                                .positional(key("axis", &SoftmaxSpec::axis).doc("only the last axis, -1"))
                                .inputs(1)
                                .masks(MaskRule::kUnsupported)
                                .output(output)
                                .backward_reads(BackwardReads{.output = true})
                                .example("", {{7, 6, 4}});

}  // namespace
}  // namespace dptrain::nn
