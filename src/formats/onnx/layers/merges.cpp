// Layers of several inputs. Keras broadcasts samples, so missing axes are inserted after the batch. For masked steps
// Multiply, Maximum and Minimum use the valid inputs only.

#include <algorithm>
#include <limits>
#include <optional>

#include "formats/onnx/onnx_layer.h"
#include "nn/merging.h"

namespace dptrain::formats::onnx {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The inputs with as many axes as the largest.
std::vector<Value> aligned(Call& call) {
  std::size_t rank = 0;
  for (const Value& input : call.inputs) rank = std::max(rank, input.dims.size());
  std::vector<Value> all;
  for (const Value& input : call.inputs) {
    Dims dims{kBatch};
    dims.insert(dims.end(), rank - input.dims.size(), 1);
    dims.insert(dims.end(), input.dims.begin() + 1, input.dims.end());
    all.push_back(call.to.reshape(input, dims));
  }
  return all;
}

Value chain(const char* op, Call& call, const std::vector<Value>& inputs) {
  Value y = inputs.front();
  for (std::size_t i = 1; i < inputs.size(); ++i) y = call.to.binary(op, y, inputs[i]);
  return y;
}

template <class Spec>
FormBuilder<Spec> chained(const char* op) {
  return form<Spec>([op](const Spec&, Call& call) { return chain(op, call, aligned(call)); });
}

/// Replaces masked steps by `neutral`. If all inputs have masks and none is valid, the first one becomes `where_none`
/// or is unchanged.
std::vector<Value> valid_inputs(Call& call, float neutral, std::optional<float> where_none) {
  std::vector<Value> all = aligned(call);
  Builder& to = call.to;
  bool all_masked = true;
  std::vector<Value> masks;  // equal for all features
  for (std::size_t i = 0; i < call.masks.size(); ++i) {
    const Value& mask = call.masks[i];
    all_masked = all_masked && !mask.name.empty();
    Dims dims = mask.dims;
    dims.resize(call.inputs[i].dims.size(), 1);
    masks.push_back(mask.name.empty() ? mask : to.reshape(mask, dims));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (masks[i].name.empty()) continue;
    Value otherwise = to.scalar(neutral);
    if (i == 0 && all_masked) {
      Value others = masks[1];
      for (std::size_t j = 2; j < masks.size(); ++j) others = to.binary("Or", others, masks[j], Element::kBool);
      otherwise = to.where(others, otherwise, where_none ? to.scalar(*where_none) : all[0]);
    }
    all[i] = to.where(masks[i], all[i], otherwise);
  }
  return all;
}

template <class Spec>
FormBuilder<Spec> chained_where_valid(const char* op, float neutral, std::optional<float> where_none) {
  return form<Spec>([=](const Spec&, Call& call) { return chain(op, call, valid_inputs(call, neutral, where_none)); })
      .uses_masks();
}

Value average(const nn::AverageSpec&, Call& call) {
  return call.to.binary("Mul", chain("Add", call, aligned(call)),
                        call.to.scalar(1.0F / static_cast<float>(call.inputs.size())));
}

Value concatenate(const nn::ConcatenateSpec& spec, Call& call) {
  const auto rank = static_cast<std::int64_t>(call.x().dims.size());
  return call.to.concat(call.inputs, spec.axis < 0 ? rank + spec.axis : spec.axis);
}

/// [batch, lines, length] of an input.
Value lines(const nn::DotSpec& spec, Call& call, int which) {
  const Value& x = call.inputs[static_cast<std::size_t>(which)];
  const nn::DotOperand operand = nn::dot_operand(spec, sample_of(x), which);
  Value all = x;
  if (x.dims.size() == 2)
    all = call.to.reshape(x, {kBatch, 1, operand.length});
  else if (operand.stride != 1)
    all = call.to.transpose(x, {0, 2, 1});
  if (!spec.normalize) return all;
  const Value square = call.to.reduce("ReduceSum", call.to.binary("Mul", all, all), {2}, true);
  const Value factor = call.to.node(
      "Min", {call.to.unary("Reciprocal", call.to.unary("Sqrt", square)), call.to.scalar(1e7F)}, square.dims);
  return call.to.binary("Mul", all, factor);
}

Value dot(const nn::DotSpec& spec, Call& call) {
  const Value a = lines(spec, call, 0), b = lines(spec, call, 1);
  return call.to.to_samples(call.to.matmul(a, call.to.transpose(b, {0, 2, 1})), call.output);
}

const RegisteredForm kAdd = chained<nn::AddSpec>("Add");
const RegisteredForm kSubtract = chained<nn::SubtractSpec>("Sub");
const RegisteredForm kMultiply = chained_where_valid<nn::MultiplySpec>("Mul", 1, 0);
const RegisteredForm kMaximum = chained_where_valid<nn::MaximumSpec>("Max", -kInfinity, std::nullopt);
const RegisteredForm kMinimum = chained_where_valid<nn::MinimumSpec>("Min", kInfinity, std::nullopt);
const RegisteredForm kAverage = form<nn::AverageSpec>(average);
const RegisteredForm kConcatenate = form<nn::ConcatenateSpec>(concatenate);
const RegisteredForm kDot = form<nn::DotSpec>(dot);

}  // namespace
}  // namespace dptrain::formats::onnx
