// Layers that move or copy values.

#include <utility>

#include "formats/onnx/onnx_layer.h"
#include "nn/reshaping.h"
#include "nn/resizing.h"

namespace dptrain::formats::onnx {
namespace {

using Amounts = std::vector<nn::Margins1D>;

Amounts ends_of(const nn::Margins1D& ends) { return {ends}; }
Amounts ends_of(const nn::Margins2D& sides) { return {{sides.top, sides.bottom}, {sides.left, sides.right}}; }
Amounts ends_of(const nn::Margins3D& sides) { return {sides.depth, sides.height, sides.width}; }

template <class Spec>
Value padded(const Spec& spec, Call& call) {
  std::vector<std::int64_t> before, after;
  for (const nn::Margins1D& ends : ends_of(spec.padding)) {
    before.push_back(ends.before);
    after.push_back(ends.after);
  }
  return call.to.pad(call.x(), before, after);
}

template <class Spec>
Value cropped(const Spec& spec, Call& call) {
  Value y = call.x();
  std::int64_t axis = 0;
  for (const nn::Margins1D& ends : ends_of(spec.cropping)) {
    ++axis;
    const std::int64_t extent = y.dims[static_cast<std::size_t>(axis)];
    if (ends.before != 0 || ends.after != 0) y = call.to.slice(y, axis, ends.before, extent - ends.after);
  }
  return y;
}

/// Resizes to call.output. `nearest`: ONNX's nearest_mode.
Value resized(Call& call, nn::Interpolation interpolation, bool whole_factors) {
  Builder& to = call.to;
  const Value x = to.channels_first(call.x());
  Dims dims{kBatch, x.dims[1]};
  std::vector<float> scales{1, 1};
  for (int axis = 0; axis + 1 < call.output.rank(); ++axis) {
    dims.push_back(call.output[axis]);
    scales.push_back(static_cast<float>(call.output[axis]) /
                     static_cast<float>(x.dims[static_cast<std::size_t>(axis) + 2]));
  }
  Builder::Attributes attributes;
  if (interpolation == nn::Interpolation::kBilinear)
    attributes = {{"mode", std::string("linear")}, {"coordinate_transformation_mode", std::string("half_pixel")}};
  else if (whole_factors)
    attributes = {{"mode", std::string("nearest")},
                  {"coordinate_transformation_mode", std::string("asymmetric")},
                  {"nearest_mode", std::string("floor")}};
  else
    attributes = {{"mode", std::string("nearest")},
                  {"coordinate_transformation_mode", std::string("half_pixel")},
                  {"nearest_mode", std::string("round_prefer_ceil")}};
  std::vector<Value> inputs{x, {}};
  if (whole_factors) {
    inputs.push_back(to.floats({static_cast<std::int64_t>(scales.size())}, scales));
  } else {  // sizes, because factors may round; the size of the batch is computed
    const Value front = to.extents(x, 0, 2);
    inputs.push_back({});
    inputs.push_back(to.concat({front, to.integers(Dims(dims.begin() + 2, dims.end()))}, 0));
  }
  return to.channels_last(to.node("Resize", inputs, std::move(dims), std::move(attributes)));
}

Value repeated(const nn::RepeatVectorSpec& spec, Call& call) {
  const Value one = call.to.reshape(call.x(), {kBatch, 1, call.x().dims[1]});
  return call.to.node("Tile", {one, call.to.integers({1, spec.n, 1})}, {kBatch, spec.n, call.x().dims[1]});
}

const RegisteredForms<nn::FlattenSpec, nn::ReshapeSpec> kReshapes([](const auto&, Call& call) {
  return call.to.to_samples(call.x(), call.output);
});
const RegisteredForm kPermute = form<nn::PermuteSpec>([](const nn::PermuteSpec& spec, Call& call) {
  std::vector<std::int64_t> perm{0};
  perm.insert(perm.end(), spec.dims.dims().begin(), spec.dims.dims().end());
  return call.to.transpose(call.x(), perm);
});
const RegisteredForm kRepeatVector = form<nn::RepeatVectorSpec>(repeated);
const RegisteredForms<nn::ZeroPadding1DSpec, nn::ZeroPadding2DSpec, nn::ZeroPadding3DSpec> kPaddings(
    [](const auto& spec, Call& call) { return padded(spec, call); });
const RegisteredForms<nn::Cropping1DSpec, nn::Cropping2DSpec, nn::Cropping3DSpec> kCroppings([](const auto& spec,
                                                                                                Call& call) {
  return cropped(spec, call);
});
const RegisteredForms<nn::UpSampling1DSpec, nn::UpSampling3DSpec> kUpSamplings([](const auto&, Call& call) {
  return resized(call, nn::Interpolation::kNearest, true);
});
const RegisteredForm kUpSampling2D = form<nn::UpSampling2DSpec>(
    [](const nn::UpSampling2DSpec& spec, Call& call) { return resized(call, spec.interpolation, true); });
const RegisteredForm kResizing = form<nn::ResizingSpec>(
    [](const nn::ResizingSpec& spec, Call& call) { return resized(call, spec.interpolation, false); });

}  // namespace
}  // namespace dptrain::formats::onnx
