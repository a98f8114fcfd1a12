// TimeDistributed: the layer that it applies, with all steps of all samples as its batch.

#include "layers/time_distributed.h"

#include "export/onnx/onnx_layer.h"

namespace dptrain::exporting::onnx {
namespace {

Value time_distributed(const layers::TimeDistributedSpec& spec, Call& call) {
  const Value& x = call.x();
  Dims inner = x.dims;
  inner.erase(inner.begin() + 1);
  Call part = call;
  part.inputs = {call.to.reshape(x, inner)};
  part.masks = {Value{}};
  part.output = Shape(Dims(call.output.dims().begin() + 1, call.output.dims().end()));
  return call.to.to_samples(write_layer(spec.layer, part).front(), call.output);
}

const RegisteredForm kTimeDistributed = form<layers::TimeDistributedSpec>(time_distributed);

}  // namespace
}  // namespace dptrain::exporting::onnx
