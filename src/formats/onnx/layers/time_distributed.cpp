// TimeDistributed: the layer that it applies, with all steps of all samples as its batch.

#include "nn/wrappers.h"

#include "formats/onnx/onnx_layer.h"

namespace dptrain::formats::onnx {
namespace {

/// [batch * steps, ...] to samples of the shape, with as many steps as `like` has.
Value as_steps(Builder& to, const Value& y, const Value& like, const Shape& shape) {
  const Value all = to.node("Shape", {like}, {static_cast<std::int64_t>(like.dims.size())}, {}, Element::kInt64);
  const Value leading = to.node("Slice", {all, to.integers({0}), to.integers({2})}, {2}, {}, Element::kInt64);
  if (shape.rank() == 1) return to.node("Reshape", {y, leading}, with_batch(shape), {}, y.type);
  const Value rest = to.integers(Dims(shape.dims().begin() + 1, shape.dims().end()));
  const Value dims =
      to.node("Concat", {leading, rest}, {shape.rank() + 1}, {{"axis", std::int64_t{0}}}, Element::kInt64);
  return to.node("Reshape", {y, dims}, with_batch(shape), {}, y.type);
}

Value time_distributed(const nn::TimeDistributedSpec& spec, Call& call) {
  const Value& x = call.x();
  Dims inner = x.dims;
  inner.erase(inner.begin() + 1);
  Call part = call;
  part.inputs = {call.to.node("Reshape", {x, call.to.integers(inner)}, inner, {}, x.type)};
  part.masks = {Value{}};
  part.output = Shape(Dims(call.output.dims().begin() + 1, call.output.dims().end()));
  const Value y = write_layer(spec.layer, part).front();
  return call.to.steps_are_free() ? as_steps(call.to, y, x, call.output) : call.to.to_samples(y, call.output);
}

const RegisteredForm kTimeDistributed = form<nn::TimeDistributedSpec>(time_distributed);

}  // namespace
}  // namespace dptrain::formats::onnx
