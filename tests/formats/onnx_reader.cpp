#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <fstream>
#include <stdexcept>

#include "formats/onnx_reader.h"

namespace dptrain::formats::onnx {
namespace {

std::string described(const ::onnx::ValueInfoProto& value) {
  const auto& tensor = value.type().tensor_type();
  std::string text = value.name() + " [";
  for (int i = 0; i < tensor.shape().dim_size(); ++i) {
    const auto& dim = tensor.shape().dim(i);
    text += (i == 0 ? "" : ",") + (dim.has_dim_param() ? dim.dim_param() : std::to_string(dim.dim_value()));
  }
  return text + "] " + std::to_string(tensor.elem_type());
}

std::string checker_error_of(::onnx::ModelProto model) {
  try {
    ::onnx::checker::check_model(model);
    ::onnx::ShapeInferenceOptions options;
    options.check_type = true;
    options.error_mode = 1;
    ::onnx::shape_inference::InferShapes(model, ::onnx::OpSchemaRegistry::Instance(), options);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

OnnxFileInfo read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  ::onnx::ModelProto model;
  if (!model.ParseFromIstream(&file)) throw std::runtime_error(path + " is no ONNX file");
  OnnxFileInfo read;
  read.checker_error = checker_error_of(model);
  for (const auto& node : model.graph().node()) read.ops.push_back(node.op_type());
  for (const auto& entry : model.metadata_props()) read.metadata[entry.key()] = entry.value();
  for (const auto& input : model.graph().input()) read.inputs.push_back(described(input));
  for (const auto& output : model.graph().output()) read.outputs.push_back(described(output));
  read.producer = model.producer_name();
  read.opset = model.opset_import(0).version();
  read.ir_version = model.ir_version();
  return read;
}

}  // namespace dptrain::formats::onnx
