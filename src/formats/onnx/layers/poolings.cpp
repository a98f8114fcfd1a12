// Poolings. Padding of averages is left out of the divisor (count_include_pad 0); global ones are Reduce ops, which ask
// for no layout.

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

template <class Spec>
FormBuilder<Spec> pooling_form(const char* op) {
  return form<Spec>([op](const Spec& spec, Call& call) { return pool(op, spec, call); });
}

std::vector<std::int64_t> positions(const Value& x) {
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 1; axis + 1 < static_cast<std::int64_t>(x.dims.size()); ++axis) axes.push_back(axis);
  return axes;
}

template <class Spec>
FormBuilder<Spec> global_form(const char* op) {
  return form<Spec>(
      [op](const Spec& spec, Call& call) { return call.to.reduce(op, call.x(), positions(call.x()), spec.keepdims); });
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

const RegisteredForm kMaxPooling1D = pooling_form<nn::MaxPooling1DSpec>("MaxPool");
const RegisteredForm kMaxPooling2D = pooling_form<nn::MaxPooling2DSpec>("MaxPool");
const RegisteredForm kMaxPooling3D = pooling_form<nn::MaxPooling3DSpec>("MaxPool");
const RegisteredForm kAveragePooling1D = pooling_form<nn::AveragePooling1DSpec>("AveragePool");
const RegisteredForm kAveragePooling2D = pooling_form<nn::AveragePooling2DSpec>("AveragePool");
const RegisteredForm kAveragePooling3D = pooling_form<nn::AveragePooling3DSpec>("AveragePool");

const RegisteredForm kGlobalAveragePooling1D = form<nn::GlobalAveragePooling1DSpec>(average_of_steps).heeds_masks();
const RegisteredForm kGlobalAveragePooling2D = global_form<nn::GlobalAveragePooling2DSpec>("ReduceMean");
const RegisteredForm kGlobalAveragePooling3D = global_form<nn::GlobalAveragePooling3DSpec>("ReduceMean");
const RegisteredForm kGlobalMaxPooling1D = global_form<nn::GlobalMaxPooling1DSpec>("ReduceMax");
const RegisteredForm kGlobalMaxPooling2D = global_form<nn::GlobalMaxPooling2DSpec>("ReduceMax");
const RegisteredForm kGlobalMaxPooling3D = global_form<nn::GlobalMaxPooling3DSpec>("ReduceMax");

}  // namespace
}  // namespace dptrain::formats::onnx
