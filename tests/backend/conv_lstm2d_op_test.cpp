#include "nn/recurrent.h"

#include <gtest/gtest.h>

#include "backend/dropout_reference.h"
#include "backend/harness.h"

namespace dptrain::test {
namespace {

using nn::Activation;
using nn::ConvLSTM2DSpec;
using nn::Padding;

struct Frame {
  std::int64_t height, width, channels;
  std::vector<double> values;

  Frame(std::int64_t h, std::int64_t w, std::int64_t c)
      : height(h), width(w), channels(c), values(static_cast<std::size_t>(h * w * c), 0.0) {}
  double& at(std::int64_t h, std::int64_t w, std::int64_t c) {
    return values[static_cast<std::size_t>((h * width + w) * channels + c)];
  }
};

/// y += the cross-correlation of x with columns [first, first + y.channels) of the kernel.
void convolve(Frame& x, const Tensor& kernel, std::int64_t first, Size2 strides, Padding padding, Frame& y) {
  const std::int64_t kh = kernel.dim(0), kw = kernel.dim(1);
  const auto before = [&](std::int64_t in, std::int64_t out, std::int64_t k, std::int64_t stride) {
    return padding == Padding::kValid ? 0 : std::max<std::int64_t>(0, (out - 1) * stride + k - in) / 2;
  };
  const std::int64_t top = before(x.height, y.height, kh, strides.h), left = before(x.width, y.width, kw, strides.w);
  for (std::int64_t oh = 0; oh < y.height; ++oh)
    for (std::int64_t ow = 0; ow < y.width; ++ow)
      for (std::int64_t i = 0; i < kh; ++i)
        for (std::int64_t j = 0; j < kw; ++j) {
          const std::int64_t h = oh * strides.h + i - top, w = ow * strides.w + j - left;
          if (h < 0 || w < 0 || h >= x.height || w >= x.width) continue;
          for (std::int64_t c = 0; c < x.channels; ++c)
            for (std::int64_t f = 0; f < y.channels; ++f) y.at(oh, ow, f) += x.at(h, w, c) * kernel(i, j, c, first + f);
        }
}

Frame dropped(Frame frame, float rate, bool training, std::int64_t row, std::int64_t draw) {
  for (std::size_t i = 0; training && rate > 0 && i < frame.values.size(); ++i)
    frame.values[i] *=
        dropout_factor(static_cast<double>(rate), row, static_cast<std::int64_t>(i), static_cast<std::uint32_t>(draw));
  return frame;
}

Tensor conv_lstm_reference(const ConvLSTM2DSpec& spec, const Shape& state, bool training,
                           const std::vector<Tensor>& inputs, const std::vector<Tensor>& weights) {
  const Tensor& x = inputs[0];
  const std::int64_t rows = x.dim(0), steps = x.dim(1), units = spec.units, numbers = state.elements();
  Tensor y(spec.return_sequences ? std::vector{rows, steps, state[0], state[1], units}
                                 : std::vector{rows, state[0], state[1], units});
  for (std::int64_t r = 0; r < rows; ++r) {
    Frame h(state[0], state[1], units), c = h;
    for (std::size_t i = 0; inputs.size() > 1 && i < h.values.size(); ++i) {
      h.values[i] = inputs[1].values[static_cast<std::size_t>(r * numbers) + i];
      c.values[i] = inputs[2].values[static_cast<std::size_t>(r * numbers) + i];
    }
    for (std::int64_t s = 0; s < steps; ++s) {
      Frame in(x.dim(2), x.dim(3), x.dim(4));
      const std::int64_t t = spec.go_backwards ? steps - 1 - s : s;
      for (std::size_t i = 0; i < in.values.size(); ++i)
        in.values[i] = x.values[static_cast<std::size_t>(r * steps + t) * in.values.size() + i];
      std::vector<Frame> z;
      for (std::int64_t gate = 0; gate < 4; ++gate) {
        Frame sums(state[0], state[1], units);
        Frame of_input = dropped(in, spec.dropout, training, r, gate);
        Frame of_state = dropped(h, spec.recurrent_dropout, training, r, 4 + gate);
        convolve(of_input, weights[0], gate * units, spec.strides, spec.padding, sums);
        convolve(of_state, weights[1], gate * units, {1, 1}, Padding::kSame, sums);
        for (std::size_t i = 0; spec.use_bias && i < sums.values.size(); ++i)
          sums.values[i] += weights[2](gate * units + static_cast<std::int64_t>(i) % units);
        z.push_back(std::move(sums));
      }
      const auto open = [&](double value) { return activation(spec.recurrent_activation, value); };
      for (std::size_t i = 0; i < h.values.size(); ++i) {
        c.values[i] =
            open(z[1].values[i]) * c.values[i] + open(z[0].values[i]) * activation(spec.activation, z[2].values[i]);
        h.values[i] = open(z[3].values[i]) * activation(spec.activation, c.values[i]);
      }
      if (!spec.return_sequences && s + 1 < steps) continue;
      const std::int64_t to = spec.return_sequences ? (r * steps + s) * numbers : r * numbers;
      std::copy(h.values.begin(), h.values.end(), y.values.begin() + to);
    }
  }
  return y;
}

void check_conv_lstm(const ConvLSTM2DSpec& spec, const Shape& input, bool with_state = false, std::int64_t rows = 2) {
  Case c;
  c.layer = layer(spec);
  c.inputs = {input};
  ConvLSTM2DSpec last = spec;
  last.return_sequences = false;
  const std::vector<nn::TensorDef> in{{input}};
  const Shape state = nn::type_of(c.layer).outputs(&last, in).front().shape;
  if (with_state) c.inputs.insert(c.inputs.end(), 2, state);
  c.rows = rows;
  c.tolerance = 1e-5;  // errors add up over steps
  c.gradient_tolerance = 3e-5;
  c.roundings = static_cast<double>(input[0]);  // of the state, once per step
  c.same_bits_on_all_threads = false;           // oneDNN's sums
  const auto reference = [&](bool training) {
    return [&spec, &state, training](const std::vector<Tensor>& inputs, const std::vector<Tensor>& weights) {
      return conv_lstm_reference(spec, state, training, inputs, weights);
    };
  };
  c.inference = reference(false);
  agrees(c, reference(true));
}

ConvLSTM2DSpec conv_lstm_of(std::int64_t filters, std::int64_t kernel) {
  ConvLSTM2DSpec spec;
  spec.units = filters;
  spec.kernel_size = {kernel, kernel};
  return spec;
}

TEST(ConvLSTM2DOp, TheLastStep) { check_conv_lstm(conv_lstm_of(2, 3), {3, 5, 4, 2}); }
TEST(ConvLSTM2DOp, AllStepsBackwardsWithStrides) {
  ConvLSTM2DSpec spec = conv_lstm_of(2, 2);
  spec.padding = Padding::kSame;
  spec.strides = {2, 1};
  spec.go_backwards = true;
  spec.return_sequences = true;
  check_conv_lstm(spec, {3, 5, 3, 1});
}
TEST(ConvLSTM2DOp, FromAStateWithoutBias) {
  ConvLSTM2DSpec spec = conv_lstm_of(2, 1);
  spec.use_bias = false;
  spec.recurrent_activation = Activation::kHardSigmoid;
  check_conv_lstm(spec, {2, 3, 2, 2}, true);
}
TEST(ConvLSTM2DOp, DropsGateByGate) {
  ConvLSTM2DSpec spec = conv_lstm_of(2, 2);
  spec.padding = Padding::kSame;
  spec.dropout = 0.3F;
  check_conv_lstm(spec, {2, 3, 2, 2});
  spec.recurrent_dropout = 0.4F;
  spec.return_sequences = true;
  check_conv_lstm(spec, {2, 3, 2, 1}, true);
}

}  // namespace
}  // namespace dptrain::test
