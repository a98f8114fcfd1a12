// Normalizations, with moving statistics if the layer has them.

#include <algorithm>

#include "formats/onnx/onnx_layer.h"
#include "nn/normalization.h"

namespace dptrain::formats::onnx {
namespace {

/// The weight, or as many of `otherwise`.
Value or_all(const Call& call, const char* name, const Dims& dims, float otherwise) {
  const graph::Weight* weight = call.find(name);
  if (weight != nullptr) return call.constant(*weight);
  std::size_t count = 1;
  for (const std::int64_t extent : dims) count *= static_cast<std::size_t>(extent);
  return call.made(name, dims, [=] { return std::vector<float>(count, otherwise); });
}

Value batch_normalization(const nn::BatchNormalizationSpec& spec, Call& call) {
  const Value x = call.to.channels_first(call.x());
  const Dims channels{x.dims[1]};
  const Value y =
      call.to.node("BatchNormalization",
                   {x, or_all(call, "gamma", channels, 1), or_all(call, "beta", channels, 0),
                    call.constant(call.weight("moving_mean")), call.constant(call.weight("moving_variance"))},
                   x.dims, {{"epsilon", static_cast<float>(spec.epsilon)}});
  return call.to.channels_last(y);
}

/// (x - mean) / sqrt(variance + epsilon) over the axes.
Value standardized(Builder& to, const Value& x, const std::vector<std::int64_t>& axes, double epsilon) {
  const Value centred = to.binary("Sub", x, to.reduce("ReduceMean", x, axes, true));
  const Value variance = to.reduce("ReduceMean", to.binary("Mul", centred, centred), axes, true);
  const Value deviation = to.unary("Sqrt", to.binary("Add", variance, to.scalar(static_cast<float>(epsilon))));
  return to.binary("Div", centred, deviation);
}

Value scaled(Call& call, Value y) {
  if (const graph::Weight* gamma = call.find("gamma")) y = call.to.binary("Mul", y, call.constant(*gamma));
  if (const graph::Weight* beta = call.find("beta")) y = call.to.binary("Add", y, call.constant(*beta));
  return y;
}

Value layer_normalization(const nn::LayerNormalizationSpec& spec, Call& call) {
  const Value& x = call.x();
  const Shape normalized = nn::normalized_shape(spec.axis, sample_of(x));
  const auto rank = static_cast<std::int64_t>(x.dims.size()), first = rank - normalized.rank();
  if (call.to.opset() >= 17) {
    std::vector<Value> inputs{x, or_all(call, "gamma", normalized.dims(), 1)};
    if (const graph::Weight* beta = call.find("beta")) inputs.push_back(call.constant(*beta));
    return call.to.node("LayerNormalization", inputs, x.dims,
                        {{"axis", first}, {"epsilon", static_cast<float>(spec.epsilon)}});
  }
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = first; axis < rank; ++axis) axes.push_back(axis);
  return scaled(call, standardized(call.to, x, axes, spec.epsilon));
}

/// As single ops, because ONNX has RMSNormalization only from opset 23 on.
Value rms_normalization(const nn::RMSNormalizationSpec& spec, Call& call) {
  const Value& x = call.x();
  const auto rank = static_cast<std::int64_t>(x.dims.size());
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = rank - nn::normalized_shape(spec.axis, sample_of(x)).rank(); axis < rank; ++axis)
    axes.push_back(axis);
  const Value mean = call.to.reduce("ReduceMean", call.to.binary("Mul", x, x), axes, true);
  const Value root =
      call.to.unary("Sqrt", call.to.binary("Add", mean, call.to.scalar(static_cast<float>(spec.epsilon))));
  return call.to.binary("Mul", call.to.binary("Div", x, root), call.constant(call.weight("scale")));
}

/// As single ops, because ONNX's GroupNormalization was added in opset 18 and changed in 21.
Value group_normalization(const nn::GroupNormalizationSpec& spec, Call& call) {
  const Value& x = call.x();
  const Shape sample = sample_of(x);
  const std::int64_t channels = sample.back(), groups = nn::group_count(spec, sample);
  const Value parts = call.to.reshape(x, {kBatch, sample.elements() / channels, groups, channels / groups});
  const Value y = call.to.to_samples(standardized(call.to, parts, {1, 3}, spec.epsilon), sample);
  return scaled(call, y);
}

Value local_response(const nn::LocalResponseNormalizationSpec& spec, Call& call) {
  const Value x = call.to.channels_first(call.x());
  const std::int64_t size = 2 * spec.depth_radius + 1;  // ONNX divides by it
  return call.to.channels_last(call.to.unary(
      "LRN", x,
      {{"size", size}, {"alpha", spec.alpha * static_cast<float>(size)}, {"beta", spec.beta}, {"bias", spec.bias}}));
}

Value normalization(const nn::NormalizationSpec& spec, Call& call) {
  const Value& x = call.x();
  const nn::ChannelAffine affine = nn::moments_are_weights(spec) ? nn::channel_affine(spec, call.weight("mean").values,
                                                                                      call.weight("variance").values)
                                                                 : nn::channel_affine(spec, sample_of(x));
  const auto channels = [&](const char* what, const std::vector<float>& values) {
    return call.made(what, {x.dims.back()}, [&] { return values; });
  };
  if (spec.invert)
    return call.to.binary("Add", call.to.binary("Mul", x, channels("scale", affine.scale)),
                          channels("offset", affine.offset));
  return call.to.binary("Mul", call.to.binary("Sub", x, channels("shift", affine.shift)),
                        channels("scale", affine.scale));
}

Value rescaling(const nn::RescalingSpec& spec, Call& call) {
  const auto constant = [&](const char* what, const nn::ChannelValues& channels) {
    if (channels.values.size() == 1) return call.to.scalar(static_cast<float>(channels.values[0]));
    return call.made(what, {call.x().dims.back()},
                     [&] { return std::vector<float>(channels.values.begin(), channels.values.end()); });
  };
  const Value y = call.to.binary("Mul", call.x(), constant("scale", spec.scale));
  const bool shifts = std::ranges::any_of(spec.offset.values, [](double offset) { return offset != 0; });
  return shifts ? call.to.binary("Add", y, constant("offset", spec.offset)) : y;
}

Value custom_scale(const nn::CustomScaleLayerSpec& spec, Call& call) {
  const Value scaled = call.to.binary("Mul", call.inputs[1], call.to.scalar(static_cast<float>(spec.scale)));
  return call.to.binary("Add", call.inputs[0], scaled);
}

const RegisteredForm kBatchNormalization = form<nn::BatchNormalizationSpec>(batch_normalization);
const RegisteredForm kLayerNormalization = form<nn::LayerNormalizationSpec>(layer_normalization);
const RegisteredForm kRMSNormalization = form<nn::RMSNormalizationSpec>(rms_normalization);
const RegisteredForm kGroupNormalization = form<nn::GroupNormalizationSpec>(group_normalization);
const RegisteredForm kLocalResponseNormalization = form<nn::LocalResponseNormalizationSpec>(local_response);
const RegisteredForm kNormalization = form<nn::NormalizationSpec>(normalization);
const RegisteredForm kRescaling = form<nn::RescalingSpec>(rescaling);
const RegisteredForm kLayerScale = form<nn::LayerScaleSpec>([](const nn::LayerScaleSpec&, Call& call) {
  return call.to.binary("Mul", call.x(), call.constant(call.weight("gamma")));
});
const RegisteredForm kCustomScaleLayer = form<nn::CustomScaleLayerSpec>(custom_scale);

}  // namespace
}  // namespace dptrain::formats::onnx
