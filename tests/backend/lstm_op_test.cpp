#include "nn/recurrent.h"

#include <gtest/gtest.h>

#include "backend/recurrent_reference.h"

namespace dptrain::test {
namespace {

using nn::Activation;
using nn::LSTMSpec;

Tensor lstm_reference(const LSTMSpec& spec, bool training, const std::vector<Tensor>& inputs,
                      const std::vector<Tensor>& weights) {
  return run_steps(spec, 4, training, inputs, 2, lstm_step(spec, weights));
}

Case lstm_case(const LSTMSpec& spec, std::int64_t steps, std::int64_t features, bool with_state = false) {
  Case c;
  c.layer = layer(spec);
  c.inputs = {{steps, features}};
  if (with_state) c.inputs.insert(c.inputs.end(), 2, Shape{spec.units});
  c.tolerance = 1e-5;  // errors add up over steps
  c.gradient_tolerance = 2e-5;
  c.same_bits_on_all_threads = false;  // oneDNN's products
  return c;
}

void check_lstm(const LSTMSpec& spec, std::int64_t steps, std::int64_t features, bool with_state = false,
                std::int64_t rows = 3) {
  Case c = lstm_case(spec, steps, features, with_state);
  c.rows = rows;
  const auto reference = [&](bool training) {
    return [&spec, training](const std::vector<Tensor>& inputs, const std::vector<Tensor>& weights) {
      return lstm_reference(spec, training, inputs, weights);
    };
  };
  c.inference = reference(false);
  agrees(c, reference(true));
}

LSTMSpec lstm_of(std::int64_t units) {
  LSTMSpec spec;
  spec.units = units;
  return spec;
}

TEST(LSTMOp, TheLastStep) { check_lstm(lstm_of(5), 4, 3); }
TEST(LSTMOp, OneStep) { check_lstm(lstm_of(3), 1, 2); }
TEST(LSTMOp, MoreRowsThanABlock) { check_lstm(lstm_of(2), 2, 2, false, 29); }
TEST(LSTMOp, MoreUnitsThanATile) { check_lstm(lstm_of(37), 2, 3, false, 2); }
TEST(LSTMOp, AllSteps) {
  LSTMSpec spec = lstm_of(5);
  spec.return_sequences = true;
  check_lstm(spec, 4, 3);
}
TEST(LSTMOp, BackwardsWithoutBias) {
  LSTMSpec spec = lstm_of(4);
  spec.return_sequences = true;
  spec.go_backwards = true;
  spec.use_bias = false;
  check_lstm(spec, 3, 3);
}
TEST(LSTMOp, FromAState) {
  check_lstm(lstm_of(5), 3, 2, true);
  LSTMSpec spec = lstm_of(4);
  spec.go_backwards = true;
  check_lstm(spec, 3, 2, true);
}
TEST(LSTMOp, OtherActivations) {
  LSTMSpec spec = lstm_of(5);
  spec.activation = Activation::kSoftsign;
  spec.recurrent_activation = Activation::kHardSigmoid;
  check_lstm(spec, 3, 3);
}

TEST(LSTMOp, DropsInputsEquallyInAllSteps) {
  LSTMSpec spec = lstm_of(5);
  spec.dropout = 0.4F;
  check_lstm(spec, 3, 6);
}
TEST(LSTMOp, DropsStatesPerGate) {
  LSTMSpec spec = lstm_of(6);
  spec.recurrent_dropout = 0.4F;
  spec.return_sequences = true;
  check_lstm(spec, 3, 2);
  spec.dropout = 0.3F;
  check_lstm(spec, 3, 5, true);
}

}  // namespace
}  // namespace dptrain::test
