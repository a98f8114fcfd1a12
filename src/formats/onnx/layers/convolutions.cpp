// Dense, and convolutions over steps, images and volumes.

#include "nn/convolutions.h"

#include <algorithm>
#include <utility>

#include "formats/onnx/layers/windows.h"

namespace dptrain::formats::onnx {
namespace {

// Dense: Gemm for vectors, MatMul for more axes.

Value dense(const nn::DenseSpec& spec, Call& call) {
  const Value& x = call.x();
  const Value kernel = call.constant(call.weight("kernel"));
  const graph::Weight* bias = call.find("bias");
  Value y;
  if (x.dims.size() == 2) {
    std::vector<Value> inputs{x, kernel};
    if (bias != nullptr) inputs.push_back(call.constant(*bias));
    y = call.to.node("Gemm", inputs, {kBatch, spec.units});
  } else {
    y = call.to.matmul(x, kernel);
    if (bias != nullptr) y = call.to.binary("Add", y, call.constant(*bias));
  }
  return call.to.activate(y, spec.activation);
}

const RegisteredForm kDense = form<nn::DenseSpec>(dense);

// Convolutions: kernels [window..., in, out] become [out, in, window...]. `same` and `causal` become explicit pads; an
// odd element of `same` is after the input, as in Keras.

using Extents = std::vector<std::int64_t>;

/// [window..., channels, multiplier] as [channels * multiplier, 1, window...].
Value depthwise_kernel_of(const Call& call, const graph::Weight& weight) {
  const Dims& dims = weight.def.shape.dims();
  const auto rank = static_cast<std::int64_t>(dims.size());
  std::vector<std::int64_t> perm{rank - 2, rank - 1};
  Dims out{dims[dims.size() - 2] * dims.back(), 1};
  for (std::int64_t axis = 0; axis < rank - 2; ++axis) {
    perm.push_back(axis);
    out.push_back(dims[static_cast<std::size_t>(axis)]);
  }
  return call.constant(weight, perm, out);
}

template <class Spec>
Value convolution(const Spec& spec, Call& call) {
  const Value x = call.to.channels_first(call.x());
  const Value y =
      convolve(call.to, x, kernel_of(call, call.weight("kernel")), bias_of(call), windows_of(spec), spec.groups);
  return call.to.activate(call.to.channels_last(y), spec.activation);
}

template <class Spec>
Value depthwise(const Spec& spec, Call& call) {
  const Value x = call.to.channels_first(call.x());
  const graph::Weight& kernel = call.weight(call.find("kernel") != nullptr ? "kernel" : "depthwise_kernel");
  const Value y = convolve(call.to, x, depthwise_kernel_of(call, kernel), bias_of(call), windows_of(spec), x.dims[1]);
  return call.to.activate(call.to.channels_last(y), spec.activation);
}

template <class Spec>
Value separable(const Spec& spec, Call& call) {
  const Value x = call.to.channels_first(call.x());
  const Windows windows = windows_of(spec);
  const Value depth =
      convolve(call.to, x, depthwise_kernel_of(call, call.weight("depthwise_kernel")), {}, windows, x.dims[1]);
  const Extents ones(windows.size.size(), 1);
  const Windows points{.size = ones, .strides = ones, .dilation = ones, .padding = nn::Padding::kValid};
  const Value y = convolve(call.to, depth, kernel_of(call, call.weight("pointwise_kernel")), bias_of(call), points, 1);
  return call.to.activate(call.to.channels_last(y), spec.activation);
}

const RegisteredForms<nn::Conv1DSpec, nn::Conv2DSpec, nn::Conv3DSpec> kConvolutions([](const auto& spec, Call& call) {
  return convolution(spec, call);
});
const RegisteredForms<nn::DepthwiseConv1DSpec, nn::DepthwiseConv2DSpec> kDepthwise([](const auto& spec, Call& call) {
  return depthwise(spec, call);
});
const RegisteredForms<nn::SeparableConv1DSpec, nn::SeparableConv2DSpec> kSeparable([](const auto& spec, Call& call) {
  return separable(spec, call);
});

// Transposed convolutions: kernels [window..., out, in] become [in, out, window...]. The pads are those of the inverse
// convolution. Extra outputs of ONNX's arithmetic are cut off at the end, and missing ones are output_padding.

template <class Spec>
Value transposed(const Spec& spec, Call& call) {
  const Value x = call.to.channels_first(call.x());
  const Windows windows = windows_of(spec);
  std::vector<std::int64_t> pads, after, more;
  Dims dims{kBatch, spec.filters};
  for (std::size_t i = 0; i < windows.size.size(); ++i) {
    const std::int64_t in = x.dims[i + 2], out = call.output[static_cast<int>(i)];
    const nn::WindowAxis back =
        nn::window_axis(out, windows.size[i], windows.strides[i], windows.dilation[i], windows.padding);
    const std::int64_t whole = (in - 1) * windows.strides[i] + (windows.size[i] - 1) * windows.dilation[i] + 1;
    const std::int64_t cut = whole - out - back.pad_before;
    pads.push_back(back.pad_before);
    after.push_back(std::max<std::int64_t>(cut, 0));
    more.push_back(std::max<std::int64_t>(-cut, 0));
    dims.push_back(out);
  }
  pads.insert(pads.end(), after.begin(), after.end());
  const Value y =
      call.to.node("ConvTranspose", {x, kernel_of(call, call.weight("kernel")), bias_of(call)}, std::move(dims),
                   {{"kernel_shape", windows.size},
                    {"strides", windows.strides},
                    {"dilations", windows.dilation},
                    {"pads", pads},
                    {"output_padding", more}});
  return call.to.activate(call.to.channels_last(y), spec.activation);
}

const RegisteredForms<nn::Conv1DTransposeSpec, nn::Conv2DTransposeSpec, nn::Conv3DTransposeSpec> kTransposed(
    [](const auto& spec, Call& call) { return transposed(spec, call); });

}  // namespace
}  // namespace dptrain::formats::onnx
