#include "nn/recurrent.h"

#include <gtest/gtest.h>

#include "backend/recurrent_reference.h"

namespace dptrain::test {
namespace {

using nn::SimpleRNNSpec;

Tensor simple_rnn_reference(const SimpleRNNSpec& spec, bool training, const std::vector<Tensor>& inputs,
                            const std::vector<Tensor>& weights) {
  const auto step = [&](const RowDropout& dropout, const StateRow& x, std::vector<StateRow>& states) {
    StateRow& h = states[0];
    StateRow z = times(dropout.input(x, 0), weights[0], 0, spec.units);
    const StateRow more = times(dropout.state(h, 0), weights[1], 0, spec.units);
    for (std::size_t u = 0; u < z.size(); ++u) {
      const double bias = spec.use_bias ? double{weights[2](static_cast<std::int64_t>(u))} : 0.0;
      h[u] = activation(spec.activation, z[u] + more[u] + bias);
    }
    return h;
  };
  return run_steps(spec, 1, training, inputs, 1, step);
}

void check_simple_rnn(const SimpleRNNSpec& spec, std::int64_t steps, std::int64_t features, bool with_state = false,
                      std::int64_t rows = 3) {
  Case c;
  c.layer = layer(spec);
  c.rows = rows;
  c.inputs = {{steps, features}};
  if (with_state) c.inputs.push_back({spec.units});
  c.tolerance = 1e-5;  // errors add up over steps
  c.gradient_tolerance = 2e-5;
  c.same_bits_on_all_threads = false;  // oneDNN's products
  const auto reference = [&](bool training) {
    return [&spec, training](const std::vector<Tensor>& inputs, const std::vector<Tensor>& weights) {
      return simple_rnn_reference(spec, training, inputs, weights);
    };
  };
  c.inference = reference(false);
  agrees(c, reference(true));
}

SimpleRNNSpec simple_rnn_of(std::int64_t units) {
  SimpleRNNSpec spec;
  spec.units = units;
  return spec;
}

TEST(SimpleRNNOp, TheLastStep) { check_simple_rnn(simple_rnn_of(5), 4, 3); }
TEST(SimpleRNNOp, OneStep) { check_simple_rnn(simple_rnn_of(3), 1, 2); }
TEST(SimpleRNNOp, MoreRowsThanABlock) { check_simple_rnn(simple_rnn_of(2), 2, 2, false, 29); }
TEST(SimpleRNNOp, MoreUnitsThanATile) { check_simple_rnn(simple_rnn_of(37), 2, 3, false, 2); }
TEST(SimpleRNNOp, AllSteps) {
  SimpleRNNSpec spec = simple_rnn_of(5);
  spec.return_sequences = true;
  check_simple_rnn(spec, 4, 3);
}
TEST(SimpleRNNOp, BackwardsWithoutBias) {
  SimpleRNNSpec spec = simple_rnn_of(4);
  spec.return_sequences = true;
  spec.go_backwards = true;
  spec.use_bias = false;
  check_simple_rnn(spec, 3, 3);
}
TEST(SimpleRNNOp, FromAState) {
  check_simple_rnn(simple_rnn_of(5), 3, 2, true);
  SimpleRNNSpec spec = simple_rnn_of(4);
  spec.go_backwards = true;
  spec.activation = nn::Activation::kSoftsign;
  check_simple_rnn(spec, 3, 2, true);
}
TEST(SimpleRNNOp, Drops) {
  SimpleRNNSpec spec = simple_rnn_of(5);
  spec.dropout = 0.4F;
  check_simple_rnn(spec, 2, 6);  // few steps: in 16 bits, each rounds h and its product with the factors once more
  spec.recurrent_dropout = 0.4F;
  spec.return_sequences = true;
  check_simple_rnn(spec, 2, 5, true);
}

}  // namespace
}  // namespace dptrain::test
