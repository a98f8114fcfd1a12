// Layers of several inputs. Keras stretches what samples have, so the axes that one lacks stand behind its batch.
// Multiply, Maximum and Minimum of masked inputs have no form.

#include <algorithm>

#include "export/onnx/onnx_layer.h"
#include "layers/add.h"
#include "layers/average.h"
#include "layers/concatenate.h"
#include "layers/dot.h"
#include "layers/maximum.h"
#include "layers/minimum.h"
#include "layers/multiply.h"
#include "layers/subtract.h"

namespace dptrain::exporting::onnx {
namespace {

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

Value chain(const char* op, Call& call) {
  const std::vector<Value> inputs = aligned(call);
  Value y = inputs.front();
  for (std::size_t i = 1; i < inputs.size(); ++i) y = call.to.binary(op, y, inputs[i]);
  return y;
}

template <class Spec>
FormBuilder<Spec> chained(const char* op) {
  return form<Spec>([op](const Spec&, Call& call) { return chain(op, call); });
}

Value average(const layers::AverageSpec&, Call& call) {
  return call.to.binary("Mul", chain("Add", call), call.to.scalar(1.0F / static_cast<float>(call.inputs.size())));
}

Value concatenate(const layers::ConcatenateSpec& spec, Call& call) {
  const auto rank = static_cast<std::int64_t>(call.x().dims.size());
  return call.to.concat(call.inputs, spec.axis < 0 ? rank + spec.axis : spec.axis);
}

/// [batch, lines, length] of an input.
Value lines(const layers::DotSpec& spec, Call& call, int which) {
  const Value& x = call.inputs[static_cast<std::size_t>(which)];
  const layers::DotOperand operand = layers::dot_operand(spec, sample_of(x), which);
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

Value dot(const layers::DotSpec& spec, Call& call) {
  const Value a = lines(spec, call, 0), b = lines(spec, call, 1);
  return call.to.to_samples(call.to.matmul(a, call.to.transpose(b, {0, 2, 1})), call.output);
}

const RegisteredForm kAdd = chained<layers::AddSpec>("Add");
const RegisteredForm kSubtract = chained<layers::SubtractSpec>("Sub");
const RegisteredForm kMultiply = chained<layers::MultiplySpec>("Mul");
const RegisteredForm kMaximum = chained<layers::MaximumSpec>("Max");
const RegisteredForm kMinimum = chained<layers::MinimumSpec>("Min");
const RegisteredForm kAverage = form<layers::AverageSpec>(average);
const RegisteredForm kConcatenate = form<layers::ConcatenateSpec>(concatenate);
const RegisteredForm kDot = form<layers::DotSpec>(dot);

}  // namespace
}  // namespace dptrain::exporting::onnx
