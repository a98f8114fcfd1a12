// Input, and layers that make vectors of ids or begin masks.

#include <utility>

#include "nn/reshaping.h"

#include "formats/onnx/onnx_layer.h"
#include "nn/embedding.h"

namespace dptrain::formats::onnx {
namespace {

std::vector<Value> embedding(const nn::EmbeddingSpec& spec, Call& call) {
  Builder& to = call.to;
  const Value& ids = call.x();
  Dims dims = ids.dims;
  dims.push_back(spec.output_dim);
  std::vector<Value> all{to.node("Gather", {call.constant(call.weight("embeddings")), ids}, std::move(dims))};
  if (spec.mask_zero) {
    const Value zero = to.cast(to.scalar(0), Element::kInt32);
    all.push_back(to.unary("Not", to.binary("Equal", ids, zero, Element::kBool)));
  }
  return all;
}

std::vector<Value> masking(const nn::MaskingSpec& spec, Call& call) {
  Builder& to = call.to;
  const Value& x = call.x();
  const auto last = static_cast<std::int64_t>(x.dims.size()) - 1;
  const Value same = to.binary("Equal", x, to.scalar(static_cast<float>(spec.mask_value)), Element::kBool);
  const Value other = to.cast(to.unary("Not", same), Element::kFloat);
  const Value valid = to.cast(to.reduce("ReduceMax", other, {last}, true), Element::kBool);
  const Value mask = to.reshape(valid, Dims(x.dims.begin(), x.dims.end() - 1));
  return {to.where(valid, x, to.scalar(0)), mask};
}

/// The first rows of the table, for every sample.
Value position_embedding(const nn::PositionEmbeddingSpec& spec, Call& call) {
  Builder& to = call.to;
  const Value& x = call.x();
  Value rows = call.constant(call.weight("embeddings"));
  const Value shape = to.node("Shape", {x}, {static_cast<std::int64_t>(x.dims.size())}, {}, Element::kInt64);
  if (to.steps_are_free()) {
    const Value steps = to.node("Slice", {shape, to.integers({1}), to.integers({2})}, {1}, {}, Element::kInt64);
    rows = to.node("Slice", {rows, to.integers({0}), steps}, {x.dims[1], x.dims[2]});
  } else if (x.dims[1] != spec.sequence_length) {
    rows = to.slice(rows, 0, 0, x.dims[1]);
  }
  return to.node("Expand", {rows, shape}, x.dims);
}

const RegisteredForm kInput = form<nn::InputSpec>([](const nn::InputSpec& spec, Call& call) {
  return call.to.input(call.to.scope(), with_batch(call.output), element_of(spec));
});
const RegisteredForm kEmbedding = form<nn::EmbeddingSpec>(embedding);
const RegisteredForm kPositionEmbedding = form<nn::PositionEmbeddingSpec>(position_embedding);
const RegisteredForm kMasking = form<nn::MaskingSpec>(masking);

}  // namespace
}  // namespace dptrain::formats::onnx
