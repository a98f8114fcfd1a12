// Poolings. Averages do not count padding (count_include_pad 0). Global poolings are Reduce ops, which work in any
// layout.

#include <utility>

#include "formats/onnx/layers/windows.h"
#include "nn/pooling.h"

namespace dptrain::formats::onnx {
namespace {

template <class Spec>
Value pool(const char* op, const Spec& spec, Call& call) {
  const Value x = call.to.channels_first(call.x());
  const Windows windows = pools_of(spec);
  const Padded padded = pads_of(x, windows);
  Dims dims{kBatch, x.dims[1]};
  dims.insert(dims.end(), padded.out.begin(), padded.out.end());
  Builder::Attributes attributes{{"kernel_shape", windows.size}, {"strides", windows.strides}, {"pads", padded.pads}};
  if (std::string(op) == "AveragePool") attributes.push_back({"count_include_pad", std::int64_t{0}});
  return call.to.channels_last(call.to.node(op, {x}, std::move(dims), std::move(attributes)));
}

std::vector<std::int64_t> positions(const Value& x) {
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 1; axis + 1 < static_cast<std::int64_t>(x.dims.size()); ++axis) axes.push_back(axis);
  return axes;
}

/// Masked steps do not count.
Value average_of_steps(const nn::GlobalAveragePooling1DSpec& spec, Call& call) {
  if (!call.masked()) return call.to.reduce("ReduceMean", call.x(), {1}, spec.keepdims);
  const Value& x = call.x();
  const Value valid = call.to.cast(call.masks[0], Element::kFloat);
  const Value each = call.to.reshape(valid, {kBatch, x.dims[1], 1});
  const Value sum = call.to.reduce("ReduceSum", call.to.binary("Mul", x, each), {1}, spec.keepdims);
  return call.to.binary("Div", sum, call.to.reduce("ReduceSum", each, {1}, spec.keepdims));
}

const RegisteredForms<nn::MaxPooling1DSpec, nn::MaxPooling2DSpec, nn::MaxPooling3DSpec> kMaxPoolings(
    [](const auto& spec, Call& call) { return pool("MaxPool", spec, call); });
const RegisteredForms<nn::AveragePooling1DSpec, nn::AveragePooling2DSpec, nn::AveragePooling3DSpec> kAveragePoolings(
    [](const auto& spec, Call& call) { return pool("AveragePool", spec, call); });

const RegisteredForm kGlobalAveragePooling1D = form<nn::GlobalAveragePooling1DSpec>(average_of_steps).uses_masks();
const RegisteredForms<nn::GlobalAveragePooling2DSpec, nn::GlobalAveragePooling3DSpec> kGlobalAveragePoolings(
    [](const auto& spec, Call& call) {
      return call.to.reduce("ReduceMean", call.x(), positions(call.x()), spec.keepdims);
    });
const RegisteredForms<nn::GlobalMaxPooling1DSpec, nn::GlobalMaxPooling2DSpec, nn::GlobalMaxPooling3DSpec>
    kGlobalMaxPoolings([](const auto& spec, Call& call) {
      return call.to.reduce("ReduceMax", call.x(), positions(call.x()), spec.keepdims);
    });

}  // namespace
}  // namespace dptrain::formats::onnx
