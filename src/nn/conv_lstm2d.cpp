#include "nn/conv_lstm2d.h"

#include "core/format.h"

namespace dptrain::nn {
namespace {

using Spec = ConvLSTM2DSpec;

constexpr std::int64_t kConvLstmGates = 4;

/// [H', W', filters] of the state.
Shape state_shape(const Spec& spec, const Shape& in) {
  refuse_strided_dilation(spec.strides, spec.dilation_rate);
  const Shape frame{in[1], in[2], in[3]};
  const Window w = window(frame, spec.kernel_size, spec.strides, spec.dilation_rate, spec.padding);
  return {w.h.out, w.w.out, spec.units};
}

std::vector<OutputDef> outputs(const Spec& spec, std::span<const TensorDef> in) {
  if (in.size() == 2) throw LayerError("expected 1 input, or 3 with the initial state, found 2");
  if (in[0].shape.rank() != 4)
    throw LayerError(
        fmt::format("expected an input of 4 axes (steps, height, width, channels), {{0}} is {}", in[0].shape.str()));
  const Shape state = state_shape(spec, in[0].shape);
  for (std::size_t i = 1; i < in.size(); ++i)
    if (in[i].shape != state)
      throw LayerError(fmt::format("the initial state is {}, {{{}}} is {}", state.str(), i, in[i].shape.str()));
  const Shape all{in[0].shape[0], state[0], state[1], state[2]};
  std::vector<OutputDef> made{{spec.return_state ? "output" : "", spec.return_sequences ? all : state}};
  if (spec.return_state) made.insert(made.end(), {{"state_h", state}, {"state_c", state}});
  return made;
}

std::vector<WeightDef> weights(const Spec& spec, std::span<const Shape> in) {
  const std::int64_t columns = kConvLstmGates * spec.units;
  // Cells of this name have the same weights but for the kernels' two axes in front.
  std::vector<WeightDef> all = lstm_weights("conv_lstm_cell", spec, in[0].back());
  all[0].shape = {spec.kernel_size.h, spec.kernel_size.w, in[0].back(), columns};
  all[1].shape = {spec.kernel_size.h, spec.kernel_size.w, spec.units, columns};
  return all;
}

LayerBuilder<Spec> conv_lstm2d() {
  LayerBuilder<Spec> builder = layer<Spec>("ConvLSTM2D");
  std::move(builder)
      .positional(config::key<Spec, std::int64_t>("filters", &Spec::units).required().at_least(1).check(Bounded{}))
      .key(key("kernel_size", &Spec::kernel_size).required().at_least(1).check(Bounded{}))
      .key(key("strides", &Spec::strides).at_least(1).check(Bounded{}))
      .key(key("padding", &Spec::padding))
      .key(key("dilation_rate", &Spec::dilation_rate).at_least(1).check(Bounded{}));
  add_cell_keys<Spec>(
      builder, [](auto& b) { add_key(b, "recurrent_activation", &Spec::recurrent_activation); },
      [](auto& b) { add_key(b, "unit_forget_bias", &Spec::unit_forget_bias); }, [](auto&) {});
  std::move(builder)
      .inputs(1, 3)
      .outputs(outputs)
      .weights(weights)
      .random([](const Spec& spec) { return spec.dropout > 0 || spec.recurrent_dropout > 0; })
      .masks(MaskRule::kHeeds)
      .backward_reads(BackwardReads{.input_to_train = true});
  return builder;
}

const Registered kConvLstm2D = conv_lstm2d();

Conv2DSpec convolution_of(const Spec& spec, std::int64_t groups) {
  Conv2DSpec conv;
  conv.filters = kConvLstmGates * spec.units;
  conv.kernel_size = spec.kernel_size;
  conv.groups = groups;
  return conv;
}

}  // namespace

Conv2DSpec input_convolution(const ConvLSTM2DSpec& spec, std::int64_t groups) {
  Conv2DSpec conv = convolution_of(spec, groups);
  conv.strides = spec.strides;
  conv.padding = spec.padding;
  conv.dilation_rate = spec.dilation_rate;
  conv.use_bias = spec.use_bias;
  return conv;
}

Conv2DSpec state_convolution(const ConvLSTM2DSpec& spec, std::int64_t groups) {
  Conv2DSpec conv = convolution_of(spec, groups);
  conv.padding = Padding::kSame;
  conv.use_bias = false;
  return conv;
}

}  // namespace dptrain::nn
