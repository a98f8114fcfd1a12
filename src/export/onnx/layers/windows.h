#pragma once

// Windows of convolutions and poolings in ONNX's attributes. Private to export/onnx/layers. Pure functions.

#include <optional>
#include <vector>

#include "export/onnx/onnx_layer.h"
#include "layers/conv1d.h"
#include "layers/geometry.h"
#include "layers/steps.h"
#include "layers/volumes.h"

namespace dptrain::exporting::onnx {

/// Of as many axes as there are.
struct Windows {
  std::vector<std::int64_t> size, strides, dilation;
  layers::Padding padding = layers::Padding::kValid;
};

inline std::vector<std::int64_t> extents_of(layers::Extent extent) { return {extent.n}; }
inline std::vector<std::int64_t> extents_of(Size2 size) { return {size.h, size.w}; }
inline std::vector<std::int64_t> extents_of(layers::Size3 size) { return {size.d, size.h, size.w}; }

inline layers::Padding padding_of(layers::Padding padding) { return padding; }
inline layers::Padding padding_of(layers::StepsPadding padding) {
  if (padding == layers::StepsPadding::kCausal) return layers::Padding::kCausal;
  return padding == layers::StepsPadding::kSame ? layers::Padding::kSame : layers::Padding::kValid;
}

/// Of a convolution.
template <class Spec>
Windows windows_of(const Spec& spec) {
  return {.size = extents_of(spec.kernel_size),
          .strides = extents_of(spec.strides),
          .dilation = extents_of(spec.dilation_rate),
          .padding = padding_of(spec.padding)};
}

/// Of a pooling.
template <class Spec>
Windows pools_of(const Spec& spec) {
  const std::vector<std::int64_t> size = extents_of(spec.pool_size);
  return {.size = size,
          .strides = extents_of(spec.strides.value_or(spec.pool_size)),
          .dilation = std::vector<std::int64_t>(size.size(), 1),
          .padding = spec.padding};
}

/// ONNX's `pads`, all that come before and then all that come behind, and how many windows there are.
struct Padded {
  std::vector<std::int64_t> pads, out;
};

/// x has its channels behind the batch.
inline Padded pads_of(const Value& x, const Windows& windows) {
  Padded padded;
  std::vector<std::int64_t> after;
  for (std::size_t i = 0; i < windows.size.size(); ++i) {
    const layers::WindowAxis axis =
        layers::window_axis(x.dims[i + 2], windows.size[i], windows.strides[i], windows.dilation[i], windows.padding);
    padded.pads.push_back(axis.pad_before);
    after.push_back(axis.pad_after);
    padded.out.push_back(axis.out);
  }
  padded.pads.insert(padded.pads.end(), after.begin(), after.end());
  return padded;
}

}  // namespace dptrain::exporting::onnx
