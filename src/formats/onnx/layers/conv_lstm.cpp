// ConvLSTM2D: one convolution of the inputs of all steps, then a Scan that convolves the state. All of it has the
// channels behind the batch.

#include <span>

#include "formats/onnx/layers/recurrent.h"
#include "formats/onnx/layers/windows.h"
#include "nn/recurrent.h"

namespace dptrain::formats::onnx {
namespace {

std::vector<Value> conv_lstm(const nn::ConvLSTM2DSpec& spec, Call& call) {
  Builder& to = call.to;
  const Dims& in = call.x().dims;  // [batch, steps, H, W, C]
  const std::int64_t filters = spec.units;
  const Value images = to.channels_first(to.reshape(call.x(), {kBatch, in[2], in[3], in[4]}));
  const graph::Weight& recurrent = call.weight("recurrent_kernel");
  const Value of_inputs =
      convolve(to, images, kernel_of(call, call.weight("kernel")), bias_of(call), windows_of(spec), 1);
  const std::int64_t height = of_inputs.dims[2], width = of_inputs.dims[3];
  const Value x = to.reshape(of_inputs, {kBatch, in[1], 4 * filters, height, width});
  std::vector<Value> states;
  for (std::size_t state = 1; state < call.inputs.size(); ++state)
    states.push_back(to.channels_first(call.inputs[state]));
  while (states.size() < 2) states.push_back(to.zeros_like_batch(call.x(), {filters, height, width}));

  const Step step = [&](Builder& body, const Value& now, const std::vector<Value>& old) -> std::vector<Value> {
    const Builder::Perm perm = kernel_perm(recurrent);
    const Dims& shape = recurrent.def.shape.dims();
    const Value own = body.named(body.scope() + "/recurrent_kernel", permuted(shape, perm),
                                 [&] { return permuted(std::span<const float>(recurrent.values), shape, perm); });
    const Windows windows{
        .size = extents_of(spec.kernel_size), .strides = {1, 1}, .dilation = {1, 1}, .padding = nn::Padding::kSame};
    const Value z = body.binary("Add", now, convolve(body, old[0], own, {}, windows, 1));
    const auto gate = [&](std::int64_t which, nn::Activation activation) {
      return body.activate(body.slice(z, 1, which * filters, (which + 1) * filters), activation);
    };
    const Value kept = body.binary("Mul", gate(1, spec.recurrent_activation), old[1]);
    const Value added = body.binary("Mul", gate(0, spec.recurrent_activation), gate(2, spec.activation));
    const Value carry = body.binary("Add", kept, added);
    return {body.binary("Mul", gate(3, spec.recurrent_activation), body.activate(carry, spec.activation)), carry};
  };
  Recurrence made = scan(to, x, states, step, {.reverse = spec.go_backwards});
  made.sequence = to.transpose(made.sequence, {0, 1, 3, 4, 2});
  made.last = to.channels_last(made.last);
  for (Value& state : made.states) state = to.channels_last(state);
  return recurrent_results(to, made, spec.return_sequences, spec.return_state, spec.go_backwards);
}

const RegisteredForm kConvLSTM2D = form<nn::ConvLSTM2DSpec>(conv_lstm);

}  // namespace
}  // namespace dptrain::formats::onnx
