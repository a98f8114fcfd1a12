// The module for ONNX converts the graph to ONNX's message. Only this source includes ONNX and protobuf; the executable
// opens the module for the first file, so it starts without these libraries.

#include <algorithm>
#include <climits>
#include <exception>
#include <memory>
#include <variant>

#include <onnx/onnx_pb.h>

#include "formats/onnx/module/api.h"

namespace dptrain::formats::onnx {
namespace {

int type_of(Element type) {
  switch (type) {
    case Element::kFloat: return ::onnx::TensorProto::FLOAT;
    case Element::kInt32: return ::onnx::TensorProto::INT32;
    case Element::kInt64: return ::onnx::TensorProto::INT64;
    case Element::kDouble: return ::onnx::TensorProto::DOUBLE;
    case Element::kUint8: return ::onnx::TensorProto::UINT8;
    case Element::kString: return ::onnx::TensorProto::STRING;
    case Element::kBool: break;
  }
  return ::onnx::TensorProto::BOOL;
}

const char* name_of_free(std::int64_t extent) {
  switch (extent) {
    case kHeight: return "height";
    case kWidth: return "width";
    case kSteps: return "steps";
    default: return "batch";
  }
}

void put_value(const Value& value, bool with_shape, ::onnx::ValueInfoProto& out) {
  out.set_name(value.name);
  auto* tensor = out.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type_of(value.type));
  if (!with_shape) return;
  auto* shape = tensor->mutable_shape();
  for (const std::int64_t extent : value.dims) {
    auto* dim = shape->add_dim();
    if (extent >= 0)
      dim->set_dim_value(extent);
    else if (extent != kNameless)
      dim->set_dim_param(name_of_free(extent));
  }
}

void put_constant(const std::string& name, const Constant& constant, ::onnx::TensorProto& out) {
  out.set_name(name);
  for (const std::int64_t extent : constant.dims) out.add_dims(extent);
  const auto put = [&out](int type, const auto& values) {
    out.set_data_type(type);
    out.set_raw_data(values.data(), values.size() * sizeof(values[0]));
  };
  if (const auto* floats = std::get_if<std::vector<float>>(&constant.values))
    put(::onnx::TensorProto::FLOAT, *floats);
  else if (const auto* doubles = std::get_if<std::vector<double>>(&constant.values))
    put(::onnx::TensorProto::DOUBLE, *doubles);
  else
    put(::onnx::TensorProto::INT64, std::get<std::vector<std::int64_t>>(constant.values));
}

void put_graph(const Graph& graph, bool with_shapes, ::onnx::GraphProto& out);

struct PutAttribute {
  ::onnx::AttributeProto& out;

  void operator()(std::int64_t value) const {
    out.set_type(::onnx::AttributeProto::INT);
    out.set_i(value);
  }
  void operator()(float value) const {
    out.set_type(::onnx::AttributeProto::FLOAT);
    out.set_f(value);
  }
  void operator()(const std::string& value) const {
    out.set_type(::onnx::AttributeProto::STRING);
    out.set_s(value);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    out.set_type(::onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) out.add_ints(value);
  }
  void operator()(const std::vector<float>& values) const {
    out.set_type(::onnx::AttributeProto::FLOATS);
    for (const float value : values) out.add_floats(value);
  }
  void operator()(const std::vector<std::string>& values) const {
    out.set_type(::onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) out.add_strings(value);
  }
  void operator()(const std::shared_ptr<const Graph>& graph) const {
    out.set_type(::onnx::AttributeProto::GRAPH);
    put_graph(*graph, false, *out.mutable_g());
  }
};

void put_graph(const Graph& graph, bool with_shapes, ::onnx::GraphProto& out) {
  out.set_name(graph.name);
  for (const Value& input : graph.inputs) put_value(input, with_shapes, *out.add_input());
  for (const Value& output : graph.outputs) put_value(output, with_shapes, *out.add_output());
  for (const auto& [name, constant] : graph.constants) put_constant(name, constant, *out.add_initializer());
  for (const Node& node : graph.nodes) {
    ::onnx::NodeProto& made = *out.add_node();
    made.set_op_type(node.op);
    made.set_name(node.name);
    if (!node.domain.empty()) made.set_domain(node.domain);
    for (const std::string& input : node.inputs) made.add_input(input);
    for (const std::string& output : node.outputs) made.add_output(output);
    for (const Attribute& attribute : node.attributes) {
      ::onnx::AttributeProto& put = *made.add_attribute();
      put.set_name(attribute.name);
      std::visit(PutAttribute{put}, attribute.value);
    }
  }
}

/// Graphs in nodes use ONNX's own domain only.
bool uses_domain(const Graph& graph, const char* domain) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) { return node.domain == domain; });
}

std::string serialize(const File& file, std::string& bytes) {
  ::onnx::ModelProto model;
  model.set_ir_version(file.ir_version);
  model.set_producer_name(file.producer);
  model.set_producer_version(file.producer_version);
  auto* opset = model.add_opset_import();
  opset->set_domain("");
  opset->set_version(file.opset);
  if (uses_domain(file.graph, kMlDomain)) {
    auto* more = model.add_opset_import();
    more->set_domain(kMlDomain);
    more->set_version(kMlOpset);
  }
  for (const auto& [key, value] : file.metadata) {
    auto* entry = model.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
  put_graph(file.graph, true, *model.mutable_graph());
  if (model.ByteSizeLong() > INT_MAX) return "larger than 2 GiB, the maximum of a protobuf message";
  return model.SerializeToString(&bytes) ? "" : "protobuf refuses to write it";
}

}  // namespace
}  // namespace dptrain::formats::onnx

extern "C" __attribute__((visibility("default"))) std::string dptrain_onnx_serialize(
    const dptrain::formats::onnx::File& file, std::string& bytes) {
  try {
    return dptrain::formats::onnx::serialize(file, bytes);
  } catch (const std::exception& error) {
    return error.what();
  }
}
