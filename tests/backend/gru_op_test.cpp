#include "nn/recurrent.h"

#include <gtest/gtest.h>

#include "backend/recurrent_reference.h"

namespace dptrain::test {
namespace {

using nn::GRUSpec;

/// x K + b of a gate, and its h U + d.
struct GruSums {
  StateRow input, state;

  GruSums(const GRUSpec& spec, std::int64_t gate, const StateRow& x, const StateRow& h,
          const std::vector<Tensor>& weights)
      : input(times(x, weights[0], gate * spec.units, spec.units)),
        state(times(h, weights[1], gate * spec.units, spec.units)) {
    for (std::int64_t u = 0; spec.use_bias && u < spec.units; ++u) {
      const auto at = static_cast<std::size_t>(u);
      const std::int64_t column = gate * spec.units + u;
      input[at] += spec.reset_after ? weights[2](0, column) : weights[2](column);
      if (spec.reset_after) state[at] += weights[2](1, column);
    }
  }
};

Tensor gru_reference(const GRUSpec& spec, bool training, const std::vector<Tensor>& inputs,
                     const std::vector<Tensor>& weights) {
  const auto step = [&](const RowDropout& dropout, const StateRow& x, std::vector<StateRow>& states) {
    StateRow& h = states[0];
    const auto open = [&](std::int64_t gate) {
      const GruSums sums(spec, gate, dropout.input(x, gate), dropout.state(h, gate), weights);
      StateRow value(h.size());
      for (std::size_t u = 0; u < h.size(); ++u)
        value[u] = activation(spec.recurrent_activation, sums.input[u] + sums.state[u]);
      return value;
    };
    const StateRow z = open(0), r = open(1);
    StateRow reset = dropout.state(h, 2);
    for (std::size_t u = 0; !spec.reset_after && u < h.size(); ++u) reset[u] *= r[u];
    const GruSums sums(spec, 2, dropout.input(x, 2), reset, weights);
    for (std::size_t u = 0; u < h.size(); ++u) {
      const double candidate =
          activation(spec.activation, sums.input[u] + (spec.reset_after ? r[u] : 1.0) * sums.state[u]);
      h[u] = z[u] * h[u] + (1 - z[u]) * candidate;
    }
    return h;
  };
  return run_steps(spec, 3, training, inputs, 1, step);
}

void check_gru(GRUSpec spec, std::int64_t steps, std::int64_t features, bool with_state = false,
               std::int64_t rows = 3) {
  for (const bool reset_after : {true, false}) {
    SCOPED_TRACE(reset_after ? "reset_after" : "reset before");
    spec.reset_after = reset_after;
    Case c;
    c.layer = layer(spec);
    c.inputs = {{steps, features}};
    if (with_state) c.inputs.push_back(Shape{spec.units});
    c.rows = rows;
    if (rows > 3) c.types = {DType::kF32};  // sums over many rows cancel, roundings to 16 bits do not
    c.tolerance = 1e-5;                     // errors add up over steps
    c.gradient_tolerance = 2e-5;
    c.same_bits_on_all_threads = false;  // oneDNN's products
    const auto reference = [&](bool training) {
      return [&spec, training](const std::vector<Tensor>& inputs, const std::vector<Tensor>& weights) {
        return gru_reference(spec, training, inputs, weights);
      };
    };
    c.inference = reference(false);
    agrees(c, reference(true));
  }
}

GRUSpec gru_of(std::int64_t units) {
  GRUSpec spec;
  spec.units = units;
  return spec;
}

TEST(GRUOp, TheLastStep) { check_gru(gru_of(5), 4, 3); }
TEST(GRUOp, MoreRowsThanABlock) { check_gru(gru_of(2), 2, 2, false, 29); }
TEST(GRUOp, MoreUnitsThanATile) { check_gru(gru_of(35), 2, 3, false, 2); }
TEST(GRUOp, AllStepsFromAState) {
  GRUSpec spec = gru_of(5);
  spec.return_sequences = true;
  check_gru(spec, 4, 3, true);
}
TEST(GRUOp, BackwardsWithoutBias) {
  GRUSpec spec = gru_of(4);
  spec.go_backwards = true;
  spec.use_bias = false;
  check_gru(spec, 3, 3);
}
TEST(GRUOp, OtherActivations) {
  GRUSpec spec = gru_of(5);
  spec.activation = nn::Activation::kSoftsign;
  spec.recurrent_activation = nn::Activation::kHardSigmoid;
  check_gru(spec, 3, 3);
}
TEST(GRUOp, Drops) {
  GRUSpec spec = gru_of(6);
  spec.dropout = 0.4F;
  check_gru(spec, 3, 5);
  spec.recurrent_dropout = 0.3F;
  spec.return_sequences = true;
  check_gru(spec, 3, 5, true);
}

}  // namespace
}  // namespace dptrain::test
