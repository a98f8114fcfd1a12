#include "formats/onnx/onnx_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "core/error.h"
#include "core/format.h"
#include "core/shape.h"

namespace dptrain::formats::onnx {
namespace {

std::vector<std::string> names_of(const std::vector<Value>& values) {
  std::vector<std::string> names;
  for (const Value& value : values) names.push_back(value.name);
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

Dims broadcast_dims(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()), 1);
  for (const Dims* one : {&a, &b})
    for (std::size_t i = 0; i < one->size(); ++i) {
      std::int64_t& extent = out[out.size() - one->size() + i];
      if (extent == 1) extent = (*one)[i];
    }
  return out;
}

/// TensorProto::DataType.
std::int64_t number_of(Element type) {
  switch (type) {
    case Element::kFloat: return 1;
    case Element::kUint8: return 2;
    case Element::kInt32: return 6;
    case Element::kInt64: return 7;
    case Element::kString: return 8;
    case Element::kBool: return 9;
    case Element::kDouble: return 11;
  }
  throw Error(ErrorKind::kInternal, "an unknown type of ONNX's");
}

std::int64_t product(const Dims& dims) {
  std::int64_t all = 1;
  for (const std::int64_t extent : dims) all *= extent;
  return all;
}

/// The shape for Reshape without the number of steps. An extent that keeps its axis is 0. The steps, axis 1, are -1 if
/// they move to another axis and the batch does not.
Dims without_steps(const Dims& from, const Dims& to) {
  Dims dims = to;
  for (std::size_t i = 1; i < std::min(from.size(), to.size()); ++i)
    if (from[i] == to[i]) dims[i] = 0;
  if (from.size() < 2 || to.size() < 2 || dims[1] == 0 || from[0] != kBatch || to[0] != kBatch) return dims;
  for (std::size_t i = 1; i < to.size(); ++i)
    if (to[i] == from[1]) {
      dims[0] = 0;
      dims[i] = -1;
      return dims;
    }
  return dims;
}

}  // namespace

std::string Builder::unique(const std::string& wanted) {
  std::string name = wanted;
  for (int n = 1; !taken_.insert(name).second; ++n) name = fmt::format("{}_{}", wanted, n);
  return name;
}

Value Builder::input(const std::string& name, const Dims& dims, Element type) {
  graph_.inputs.push_back({unique(name), dims, type});
  graph_.dims[graph_.inputs.back().name] = dims;
  return graph_.inputs.back();
}

Value Builder::scalar(float value) {
  return named(fmt::format("{}constant/{}", prefix_, value), {}, [value] { return std::vector<float>{value}; });
}

Value Builder::floats(const Dims& dims, std::vector<float> values) {
  const std::string name = unique(scope_ + "/constant");
  graph_.constants[name] = {dims, std::move(values)};
  return {name, dims, Element::kFloat};
}

Value Builder::doubles(const Dims& dims, std::vector<double> values) {
  const std::string name = unique(scope_ + "/constant");
  graph_.constants[name] = {dims, std::move(values)};
  return {name, dims, Element::kDouble};
}

Value Builder::integers(std::vector<std::int64_t> values) {
  std::string name = prefix_ + "integers";
  for (const std::int64_t value : values) name += fmt::format("/{}", value);
  const Dims dims{static_cast<std::int64_t>(values.size())};
  if (!graph_.constants.contains(name)) graph_.constants[name] = {dims, std::move(values)};
  taken_.insert(name);
  return {name, dims, Element::kInt64};
}

Value Builder::named(const std::string& name, const Dims& dims, const std::function<std::vector<float>()>& values) {
  const auto found = graph_.constants.find(name);
  if (found != graph_.constants.end() && found->second.dims != dims)  // equal weights in another shape
    return named(name + "/" + Shape(dims).str(), dims, values);
  if (found == graph_.constants.end()) {
    taken_.insert(name);
    Constant constant{dims, values()};
    const std::size_t count = std::get<std::vector<float>>(constant.values).size();
    if (count != static_cast<std::size_t>(product(dims)))
      throw Error(ErrorKind::kInternal, fmt::format("'{}' has {} values for {} elements", name, count, product(dims)));
    graph_.constants[name] = std::move(constant);
  }
  return {name, dims, Element::kFloat};
}

Value Builder::node(const std::string& op, const std::vector<Value>& inputs, Dims dims, Attributes attributes,
                    Element type) {
  const std::string name = unique(scope_ + "/" + op);
  graph_.nodes.push_back({op, name, names_of(inputs), {name}, std::move(attributes)});
  graph_.dims[name] = dims;
  return {name, std::move(dims), type};
}

std::vector<Value> Builder::node(const std::string& op, const std::vector<Value>& inputs,
                                 const std::vector<Dims>& outputs, Attributes attributes) {
  const std::string name = unique(scope_ + "/" + op);
  Node made{op, name, names_of(inputs), {}, std::move(attributes)};
  std::vector<Value> values;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    values.push_back({i == 0 ? name : unique(fmt::format("{}:{}", name, i)), outputs[i], Element::kFloat});
    made.outputs.push_back(values.back().name);
    graph_.dims[values.back().name] = outputs[i];
  }
  graph_.nodes.push_back(std::move(made));
  return values;
}

Value Builder::unary(const std::string& op, const Value& x, Attributes attributes) {
  return node(op, {x}, x.dims, std::move(attributes), x.type);
}

Value Builder::binary(const std::string& op, const Value& a, const Value& b, Element type) {
  return node(op, {a, b}, broadcast_dims(a.dims, b.dims), {}, type);
}

Value Builder::matmul(const Value& a, const Value& b) {
  const auto leading = [](const Dims& dims) { return Dims(dims.begin(), dims.end() - 2); };
  Dims dims = broadcast_dims(leading(a.dims), leading(b.dims));
  dims.push_back(a.dims[a.dims.size() - 2]);
  dims.push_back(b.dims.back());
  return node("MatMul", {a, b}, std::move(dims));
}

Value Builder::transpose(const Value& x, const Perm& perm) {
  return node("Transpose", {x}, permuted(x.dims, perm), {{"perm", perm}}, x.type);
}

Value Builder::channels_first(const Value& x) {
  if (x.dims.size() < 3) return x;
  Perm perm{0, static_cast<std::int64_t>(x.dims.size()) - 1};
  for (std::int64_t axis = 1; axis + 1 < static_cast<std::int64_t>(x.dims.size()); ++axis) perm.push_back(axis);
  return transpose(x, perm);
}

Value Builder::channels_last(const Value& x) {
  if (x.dims.size() < 3) return x;
  Perm perm{0};
  for (std::int64_t axis = 2; axis < static_cast<std::int64_t>(x.dims.size()); ++axis) perm.push_back(axis);
  perm.push_back(1);
  return transpose(x, perm);
}

Value Builder::reshape(const Value& x, const Dims& dims) {
  if (x.dims == dims) return x;
  return node("Reshape", {x, integers(steps_are_free_ ? without_steps(x.dims, dims) : dims)}, dims, {}, x.type);
}

Value Builder::to_samples(const Value& x, const Shape& shape) { return reshape(x, with_batch(shape)); }

Value Builder::reduce(const std::string& op, const Value& x, const std::vector<std::int64_t>& axes, bool keepdims) {
  Dims dims;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(x.dims.size()); ++axis) {
    const bool reduced = std::ranges::find(axes, axis) != axes.end();
    if (!reduced || keepdims) dims.push_back(reduced ? 1 : x.dims[static_cast<std::size_t>(axis)]);
  }
  Attributes attributes{{"keepdims", std::int64_t{keepdims ? 1 : 0}}};
  std::vector<Value> inputs{x};
  if (opset_ >= (op == "ReduceSum" ? 13 : 18))
    inputs.push_back(integers(axes));
  else
    attributes.push_back({"axes", axes});
  return node(op, inputs, std::move(dims), std::move(attributes));
}

Value Builder::concat(const std::vector<Value>& parts, std::int64_t axis) {
  Dims dims = parts[0].dims;
  for (std::size_t i = 1; i < parts.size(); ++i)
    dims[static_cast<std::size_t>(axis)] += parts[i].dims[static_cast<std::size_t>(axis)];
  return node("Concat", parts, std::move(dims), {{"axis", axis}}, parts[0].type);
}

Value Builder::slice(const Value& x, std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step) {
  Dims dims = x.dims;
  if (step == 1) dims[static_cast<std::size_t>(axis)] = end - start;
  return node("Slice", {x, integers({start}), integers({end}), integers({axis}), integers({step})}, std::move(dims), {},
              x.type);
}

Value Builder::flip(const Value& x, std::int64_t axis) {
  return slice(x, axis, -1, std::numeric_limits<std::int64_t>::min(), -1);
}

Value Builder::pad(const Value& x, const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after) {
  Dims dims = x.dims;
  std::vector<std::int64_t> pads(2 * dims.size());
  for (std::size_t i = 0; i < before.size(); ++i) {  // axes after the batch
    dims[i + 1] += before[i] + after[i];
    pads[i + 1] = before[i];
    pads[dims.size() + i + 1] = after[i];
  }
  return node("Pad", {x, integers(pads)}, std::move(dims));
}

Value Builder::cast(const Value& x, Element type) {
  if (x.type == type) return x;
  return node("Cast", {x}, x.dims, {{"to", number_of(type)}}, type);
}

Value Builder::where(const Value& condition, const Value& a, const Value& b) {
  return node("Where", {condition, a, b}, broadcast_dims(condition.dims, broadcast_dims(a.dims, b.dims)), {}, a.type);
}

Value Builder::activate(const Value& x, nn::Activation activation) {
  using nn::Activation;
  const auto last = static_cast<std::int64_t>(x.dims.size()) - 1;
  const Attributes sixth{{"alpha", 1.0F / 6.0F}, {"beta", 0.5F}};
  switch (activation) {
    case Activation::kLinear: return x;
    case Activation::kRelu: return unary("Relu", x);
    case Activation::kRelu6: return node("Clip", {x, scalar(0), scalar(6)}, x.dims);
    case Activation::kLeakyRelu: return unary("LeakyRelu", x, {{"alpha", kernels::traits_of(activation).alpha}});
    case Activation::kElu: return unary("Elu", x, {{"alpha", kernels::traits_of(activation).alpha}});
    case Activation::kSelu: return unary("Selu", x, {{"alpha", 1.6732632423543772F}, {"gamma", 1.0507009873554805F}});
    case Activation::kGelu: {
      const Value error = unary("Erf", binary("Mul", x, scalar(static_cast<float>(std::sqrt(0.5)))));
      return binary("Mul", binary("Mul", x, scalar(0.5F)), binary("Add", error, scalar(1)));
    }
    case Activation::kSwish: return binary("Mul", x, unary("Sigmoid", x));
    case Activation::kTanh: return unary("Tanh", x);
    case Activation::kSigmoid: return unary("Sigmoid", x);
    case Activation::kSoftmax: return unary("Softmax", x, {{"axis", last}});
    case Activation::kSoftplus: return unary("Softplus", x);
    case Activation::kHardSigmoid: return unary("HardSigmoid", x, sixth);
    case Activation::kHardSilu: return binary("Mul", x, unary("HardSigmoid", x, sixth));
    case Activation::kMish: return binary("Mul", x, unary("Tanh", unary("Softplus", x)));
    case Activation::kExponential: return unary("Exp", x);
    case Activation::kSoftsign: return unary("Softsign", x);
    case Activation::kLogSoftmax: return unary("LogSoftmax", x, {{"axis", last}});
  }
  throw Error(ErrorKind::kInternal, fmt::format("activation {} cannot be exported to ONNX", nn::name_of(activation)));
}

Value Builder::extents(const Value& x, std::int64_t first, std::int64_t end) {
  const Value all = node("Shape", {x}, {static_cast<std::int64_t>(x.dims.size())}, {}, Element::kInt64);
  return node("Slice", {all, integers({first}), integers({end})}, {end - first}, {}, Element::kInt64);
}

Value Builder::zeros_like_batch(const Value& x, const Dims& sample) {
  const Value batch = extents(x, 0, 1);
  const Value whole = concat({batch, integers(sample)}, 0);
  Dims dims{kBatch};
  dims.insert(dims.end(), sample.begin(), sample.end());
  return node("Expand", {scalar(0), whole}, std::move(dims));
}

Shape sample_of(const Value& value) { return Shape(Dims(value.dims.begin() + 1, value.dims.end())); }

Dims with_batch(const Shape& sample) {
  Dims dims{kBatch};
  dims.insert(dims.end(), sample.dims().begin(), sample.dims().end());
  return dims;
}

Dims permuted(const Dims& dims, const std::vector<std::int64_t>& perm) {
  Dims out;
  for (const std::int64_t axis : perm) out.push_back(dims[static_cast<std::size_t>(axis)]);
  return out;
}

std::vector<float> permuted(std::span<const float> values, const Dims& dims, const std::vector<std::int64_t>& perm) {
  const std::size_t rank = dims.size();
  std::vector<std::size_t> strides(rank, 1), steps(rank), extents(rank);
  for (std::size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * static_cast<std::size_t>(dims[i]);
  for (std::size_t i = 0; i < rank; ++i) {
    steps[i] = strides[static_cast<std::size_t>(perm[i])];
    extents[i] = static_cast<std::size_t>(dims[static_cast<std::size_t>(perm[i])]);
  }
  std::vector<float> out(values.size());
  std::vector<std::size_t> at(rank);
  std::size_t from = 0;
  for (float& value : out) {
    value = values[from];
    for (std::size_t axis = rank; axis-- > 0;) {  // the next index, like an odometer
      from += steps[axis];
      if (++at[axis] < extents[axis]) break;
      from -= steps[axis] * extents[axis];
      at[axis] = 0;
    }
  }
  return out;
}

}  // namespace dptrain::formats::onnx
