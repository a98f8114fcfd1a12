// Dense: Gemm of vectors, MatMul of what has more axes.

#include "nn/convolutions.h"

#include "formats/onnx/onnx_layer.h"

namespace dptrain::formats::onnx {
namespace {

Value dense(const nn::DenseSpec& spec, Call& call) {
  const Value& x = call.x();
  const Value kernel = call.constant(call.weight("kernel"));
  const graph::Weight* bias = call.find("bias");
  Value y;
  if (x.dims.size() == 2) {
    std::vector<Value> inputs{x, kernel};
    if (bias != nullptr) inputs.push_back(call.constant(*bias));
    y = call.to.node("Gemm", inputs, {kBatch, spec.units});
  } else {
    y = call.to.matmul(x, kernel);
    if (bias != nullptr) y = call.to.binary("Add", y, call.constant(*bias));
  }
  return call.to.activate(y, spec.activation);
}

const RegisteredForm kDense = form<nn::DenseSpec>(dense);

}  // namespace
}  // namespace dptrain::formats::onnx
