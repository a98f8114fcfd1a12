#pragma once

// Recurrent layers in double, step by step, as Keras writes them: for the cases of the harness.

#include <functional>
#include <string>
#include <vector>

#include "device/dropout_reference.h"
#include "device/harness.h"
#include "layers/recurrent.h"

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

/// What a row's dropout makes of inputs and states. With recurrent_dropout each gate has masks of its own: draws [0,
/// gates) of the inputs, [gates, 2 gates) of the state; else draw 0 is the inputs' for all gates.
struct RowDropout {
  const layers::RecurrentSpec& spec;
  std::int64_t gates, row;
  bool training;

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
                                  static_cast<std::uint32_t>(draw));
    return values;
  }
};

/// The step of a cell: x and the states before, to the output; the states become those behind it.
using CellStep = std::function<StateRow(const RowDropout& dropout, const StateRow& x, std::vector<StateRow>& states)>;

/// The layer's first output, without masks.
inline Tensor take_steps(const layers::RecurrentSpec& spec, std::int64_t gates, bool training,
                         const std::vector<Tensor>& inputs, std::size_t states, const CellStep& step) {
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
      const StateRow out = step(RowDropout{spec, gates, r, training}, in, state);
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

}  // namespace dptrain::test
