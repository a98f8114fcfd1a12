#pragma once

// Windows of convolutions and poolings as ONNX attributes, and convolutions. Private to formats/onnx/layers. Pure
// functions.

#include <utility>
#include <vector>

#include "formats/onnx/onnx_layer.h"
#include "nn/convolutions.h"
#include "nn/geometry.h"

namespace dptrain::formats::onnx {

/// One value for each axis of the window.
struct Windows {
  std::vector<std::int64_t> size, strides, dilation;
  nn::Padding padding = nn::Padding::kValid;
};

inline std::vector<std::int64_t> extents_of(nn::Extent extent) { return {extent.n}; }
inline std::vector<std::int64_t> extents_of(Size2 size) { return {size.h, size.w}; }
inline std::vector<std::int64_t> extents_of(nn::Size3 size) { return {size.d, size.h, size.w}; }

inline nn::Padding padding_of(nn::Padding padding) { return padding; }
inline nn::Padding padding_of(nn::StepsPadding padding) {
  if (padding == nn::StepsPadding::kCausal) return nn::Padding::kCausal;
  return padding == nn::StepsPadding::kSame ? nn::Padding::kSame : nn::Padding::kValid;
}

/// The windows of a convolution.
template <class Spec>
Windows windows_of(const Spec& spec) {
  return {.size = extents_of(spec.kernel_size),
          .strides = extents_of(spec.strides),
          .dilation = extents_of(spec.dilation_rate),
          .padding = padding_of(spec.padding)};
}

/// The windows of a pooling.
template <class Spec>
Windows pools_of(const Spec& spec) {
  const std::vector<std::int64_t> size = extents_of(spec.pool_size);
  return {.size = size,
          .strides = extents_of(spec.strides.value_or(spec.pool_size)),
          .dilation = std::vector<std::int64_t>(size.size(), 1),
          .padding = spec.padding};
}

/// ONNX's `pads` (all before the input, then all after it) and the number of windows on each axis.
struct Padded {
  std::vector<std::int64_t> pads, out;
};

/// x is channels-first.
inline Padded pads_of(const Value& x, const Windows& windows) {
  Padded padded;
  std::vector<std::int64_t> after;
  for (std::size_t i = 0; i < windows.size.size(); ++i) {
    const nn::WindowAxis axis =
        nn::window_axis(x.dims[i + 2], windows.size[i], windows.strides[i], windows.dilation[i], windows.padding);
    padded.pads.push_back(axis.pad_before);
    after.push_back(axis.pad_after);
    padded.out.push_back(axis.out);
  }
  padded.pads.insert(padded.pads.end(), after.begin(), after.end());
  return padded;
}

/// x and the result are channels-first; kernel and bias are in ONNX's layout.
inline Value convolve(Builder& to, const Value& x, const Value& kernel, const Value& bias, const Windows& windows,
                      std::int64_t groups) {
  const Padded padded = pads_of(x, windows);
  Dims dims{x.dims[0], kernel.dims[0]};
  dims.insert(dims.end(), padded.out.begin(), padded.out.end());
  return to.node("Conv", {x, kernel, bias}, std::move(dims),
                 {{"kernel_shape", windows.size},
                  {"strides", windows.strides},
                  {"dilations", windows.dilation},
                  {"pads", padded.pads},
                  {"group", groups}});
}

/// [window..., in, out] becomes [out, in, window...].
inline Builder::Perm kernel_perm(const graph::Weight& weight) {
  const std::int64_t rank = weight.def.shape.rank();
  Builder::Perm perm{rank - 1, rank - 2};
  for (std::int64_t axis = 0; axis < rank - 2; ++axis) perm.push_back(axis);
  return perm;
}

inline Value kernel_of(const Call& call, const graph::Weight& weight) {
  const Builder::Perm perm = kernel_perm(weight);
  return call.constant(weight, perm, permuted(weight.def.shape.dims(), perm));
}

inline Value bias_of(const Call& call) {
  const graph::Weight* bias = call.find("bias");
  return bias == nullptr ? Value{} : call.constant(*bias);
}

}  // namespace dptrain::formats::onnx
