#pragma once

// Recurrent layers in double, step by step, by Keras's formulas; for the cases of the harness.

#include <functional>
#include <span>
#include <vector>

#include "backend/dropout_reference.h"
#include "backend/harness.h"
#include "nn/recurrent.h"

namespace dptrain::test {

using StateRow = std::vector<double>;

/// x [in] times the columns [first, first + count) of weights [in, columns].
inline StateRow times(const StateRow& x, const Tensor& weights, std::int64_t first, std::int64_t count) {
  StateRow y(static_cast<std::size_t>(count), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::int64_t c = 0; c < count; ++c)
      y[static_cast<std::size_t>(c)] += x[i] * weights(static_cast<std::int64_t>(i), first + c);
  return y;
}

/// Dropout of a row's inputs and states. With recurrent_dropout each gate has its own masks: draws [0, gates) for the
/// inputs, [gates, 2 gates) for the state; else all gates share draw 0 of the inputs.
struct RowDropout {
  const nn::RecurrentSpec& spec;
  std::int64_t gates, row;
  bool training;
  std::int64_t first_draw = 0;

  StateRow input(StateRow x, std::int64_t gate) const {
    return drop(std::move(x), spec.dropout, spec.recurrent_dropout > 0 ? gate : 0);
  }
  StateRow state(StateRow h, std::int64_t gate) const {
    return drop(std::move(h), spec.recurrent_dropout, gates + gate);
  }

 private:
  StateRow drop(StateRow values, float rate, std::int64_t draw) const {
    for (std::size_t i = 0; training && rate > 0 && i < values.size(); ++i)
      values[i] *= dropout_factor(static_cast<double>(rate), row, static_cast<std::int64_t>(i),
                                  static_cast<std::uint32_t>(first_draw + draw));
    return values;
  }
};

/// A step of a cell: returns the output of x and updates the states.
using CellStep = std::function<StateRow(const RowDropout& dropout, const StateRow& x, std::vector<StateRow>& states)>;

/// The layer's first output, without masks.
inline Tensor run_steps(const nn::RecurrentSpec& spec, std::int64_t gates, bool training,
                        const std::vector<Tensor>& inputs, std::size_t states, const CellStep& step,
                        std::int64_t first_draw = 0) {
  const Tensor& x = inputs[0];
  const std::int64_t rows = x.dim(0), steps = x.dim(1), features = x.dim(2), units = spec.units;
  Tensor y(spec.return_sequences ? std::vector{rows, steps, units} : std::vector{rows, units});
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<StateRow> state(states, StateRow(static_cast<std::size_t>(units), 0.0));
    for (std::size_t i = 1; i < inputs.size(); ++i)
      for (std::int64_t u = 0; u < units; ++u) state[i - 1][static_cast<std::size_t>(u)] = inputs[i](r, u);
    for (std::int64_t s = 0; s < steps; ++s) {
      StateRow in;
      for (std::int64_t f = 0; f < features; ++f) in.push_back(x(r, spec.go_backwards ? steps - 1 - s : s, f));
      const StateRow out = step(RowDropout{spec, gates, r, training, first_draw}, in, state);
      for (std::int64_t u = 0; u < units; ++u) {
        if (spec.return_sequences)
          y(r, s, u) = out[static_cast<std::size_t>(u)];
        else
          y(r, u) = out[static_cast<std::size_t>(u)];
      }
    }
  }
  return y;
}

/// A step of an LSTM with these weights.
inline CellStep lstm_step(const nn::LSTMSpec& spec, std::span<const Tensor> weights) {
  return [&spec, weights](const RowDropout& dropout, const StateRow& x, std::vector<StateRow>& states) {
    const std::int64_t units = spec.units;
    StateRow &h = states[0], &c = states[1];
    std::vector<StateRow> z;
    for (std::int64_t gate = 0; gate < 4; ++gate) {
      StateRow sums = times(dropout.input(x, gate), weights[0], gate * units, units);
      const StateRow more = times(dropout.state(h, gate), weights[1], gate * units, units);
      for (std::size_t u = 0; u < sums.size(); ++u) {
        sums[u] += more[u];
        if (spec.use_bias) sums[u] += weights[2](gate * units + static_cast<std::int64_t>(u));
      }
      z.push_back(sums);
    }
    const auto open = [&](double value) { return activation(spec.recurrent_activation, value); };
    for (std::size_t u = 0; u < h.size(); ++u) {
      c[u] = open(z[1][u]) * c[u] + open(z[0][u]) * activation(spec.activation, z[2][u]);
      h[u] = open(z[3][u]) * activation(spec.activation, c[u]);
    }
    return h;
  };
}

}  // namespace dptrain::test
