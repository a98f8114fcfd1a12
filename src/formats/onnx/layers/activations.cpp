// Layers that are an activation, and layers that act in training only.

#include "nn/activations.h"

#include "formats/onnx/onnx_layer.h"
#include "nn/dropout.h"

namespace dptrain::formats::onnx {
namespace {

/// Keras's order: max_value, then the line, then the slope below the threshold.
Value relu(const nn::ReLUSpec& spec, Call& call) {
  Builder& to = call.to;
  const Value& x = call.x();
  if (spec.threshold == 0 && spec.negative_slope == 0)
    return spec.max_value ? to.node("Clip", {x, to.scalar(0), to.scalar(*spec.max_value)}, x.dims)
                          : to.unary("Relu", x);
  Value y;
  if (spec.threshold == 0) {
    y = to.unary("LeakyRelu", x, {{"alpha", spec.negative_slope}});
  } else {
    const Value threshold = to.scalar(spec.threshold);
    const Value below = to.binary("Mul", to.binary("Sub", x, threshold), to.scalar(spec.negative_slope));
    y = to.where(to.binary("Greater", x, threshold, Element::kBool), x, below);
  }
  if (!spec.max_value) return y;
  const Value most = to.scalar(*spec.max_value);
  return to.where(to.binary("GreaterOrEqual", x, most, Element::kBool), most, y);
}

const RegisteredForm kActivation = form<nn::ActivationSpec>(
    [](const nn::ActivationSpec& spec, Call& call) { return call.to.activate(call.x(), spec.activation); });
const RegisteredForm kReLU = form<nn::ReLUSpec>(relu);
const RegisteredForm kLeakyReLU = form<nn::LeakyReLUSpec>([](const nn::LeakyReLUSpec& spec, Call& call) {
  return call.to.unary("LeakyRelu", call.x(), {{"alpha", spec.negative_slope}});
});
const RegisteredForm kELU = form<nn::ELUSpec>([](const nn::ELUSpec& spec, Call& call) {
  return call.to.unary("Elu", call.x(), {{"alpha", spec.alpha}});
});
const RegisteredForm kPReLU = form<nn::PReLUSpec>([](const nn::PReLUSpec&, Call& call) {
  return call.to.node("PRelu", {call.x(), call.constant(call.weight("alpha"))}, call.x().dims);
});
const RegisteredForm kSoftmax = form<nn::SoftmaxSpec>(
    [](const nn::SoftmaxSpec&, Call& call) { return call.to.activate(call.x(), nn::Activation::kSoftmax); });

/// Without a node.
const RegisteredForms<nn::DropoutSpec, nn::SpatialDropout1DSpec, nn::SpatialDropout2DSpec, nn::SpatialDropout3DSpec,
                      nn::GaussianDropoutSpec, nn::GaussianNoiseSpec, nn::StochasticDepthSpec>
    kNoises([](const auto&, Call& call) { return call.x(); });

}  // namespace
}  // namespace dptrain::formats::onnx
