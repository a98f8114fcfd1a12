#include "nn/wrappers.h"

#include <gtest/gtest.h>

#include "backend/recurrent_reference.h"

namespace dptrain::test {
namespace {

using nn::BidirectionalSpec;
using nn::LSTMSpec;
using nn::MergeMode;

double merged(MergeMode mode, double f, double b) {
  switch (mode) {
    case MergeMode::kMul: return f * b;
    case MergeMode::kAve: return (f + b) / 2;
    default: return f + b;
  }
}

/// Two LSTMs, each direction with its half of the weights, the initial states and its own draws.
Tensor bidirectional_reference(const BidirectionalSpec& spec, bool training, const std::vector<Tensor>& inputs,
                               const std::vector<Tensor>& weights) {
  std::vector<Tensor> outputs;
  for (const bool backward : {false, true}) {
    auto inner = spec.layer.as<LSTMSpec>();
    inner.go_backwards = backward;
    std::vector<Tensor> own{inputs[0]};
    if (inputs.size() > 1)
      own.insert(own.end(), inputs.begin() + (backward ? 3 : 1), inputs.begin() + (backward ? 5 : 3));
    const std::size_t half = weights.size() / 2;
    const CellStep step = lstm_step(inner, std::span(weights).subspan(backward ? half : 0, half));
    outputs.push_back(run_steps(inner, 4, training, own, 2, step, backward ? 16 : 0));
  }
  const Tensor &f = outputs[0], &b = outputs[1];
  const std::int64_t units = nn::recurrent_spec(spec).units, rows = f.dim(0), steps = f.dims.size() == 3 ? f.dim(1) : 1;
  std::vector<std::int64_t> dims = f.dims;
  const bool concat = spec.merge_mode == MergeMode::kConcat;
  if (concat) dims.back() *= 2;
  Tensor y(dims);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t t = 0; t < steps; ++t)
      for (std::int64_t u = 0; u < units; ++u) {
        const double of_f = f.values[static_cast<std::size_t>((r * steps + t) * units + u)],
                     of_b = b.values[static_cast<std::size_t>((r * steps + steps - 1 - t) * units + u)];
        double* const to = y.values.data() + (r * steps + t) * (concat ? 2 * units : units) + u;
        to[0] = concat ? of_f : merged(spec.merge_mode, of_f, of_b);
        if (concat) to[units] = of_b;
      }
  return y;
}

void check_bidirectional(const LSTMSpec& inner, MergeMode mode, std::int64_t steps, std::int64_t features,
                         bool with_states = false, std::int64_t rows = 3) {
  const BidirectionalSpec spec{nn::WrappedLayer(inner), mode};
  Case c;
  c.layer = layer(spec);
  c.inputs = {{steps, features}};
  if (with_states) c.inputs.insert(c.inputs.end(), 4, Shape{inner.units});
  c.rows = rows;
  c.tolerance = 1e-5;  // errors add up over steps
  c.gradient_tolerance = 2e-5;
  c.same_bits_on_all_threads = false;  // oneDNN's products
  const auto reference = [&](bool training) {
    return [&spec, training](const std::vector<Tensor>& inputs, const std::vector<Tensor>& weights) {
      return bidirectional_reference(spec, training, inputs, weights);
    };
  };
  c.inference = reference(false);
  agrees(c, reference(true));
}

LSTMSpec inner_of(std::int64_t units, bool sequences) {
  LSTMSpec spec;
  spec.units = units;
  spec.return_sequences = sequences;
  return spec;
}

TEST(BidirectionalOp, TheLastSteps) {
  for (const MergeMode mode : {MergeMode::kConcat, MergeMode::kSum, MergeMode::kMul, MergeMode::kAve})
    check_bidirectional(inner_of(5, false), mode, 4, 3);
}
TEST(BidirectionalOp, AllSteps) {
  for (const MergeMode mode : {MergeMode::kConcat, MergeMode::kSum, MergeMode::kMul, MergeMode::kAve})
    check_bidirectional(inner_of(3, true), mode, 3, 2);
}
TEST(BidirectionalOp, MoreRowsThanABlock) {
  check_bidirectional(inner_of(2, true), MergeMode::kConcat, 2, 2, false, 29);
}
TEST(BidirectionalOp, WithoutBias) {
  LSTMSpec inner = inner_of(4, true);
  inner.use_bias = false;
  check_bidirectional(inner, MergeMode::kSum, 3, 3);
}
TEST(BidirectionalOp, FromStates) { check_bidirectional(inner_of(4, false), MergeMode::kConcat, 3, 2, true); }
TEST(BidirectionalOp, DirectionsDropIndependently) {
  LSTMSpec inner = inner_of(4, true);
  inner.dropout = 0.4F;
  check_bidirectional(inner, MergeMode::kConcat, 3, 6);
  inner.recurrent_dropout = 0.3F;
  check_bidirectional(inner, MergeMode::kMul, 3, 4);
}

}  // namespace
}  // namespace dptrain::test
