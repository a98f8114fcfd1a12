// Compares the steps of recurrent layers with the equations in double on every instruction set: values, gradients of
// the sums by central differences, masked steps, recurrent dropout, both directions.

#include "kernels/cpu/recurrent.h"

#include <gtest/gtest.h>

#include "kernels/aligned_floats.h"
#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::AlignedFloats;
using test::random_floats;

using Doubles = std::vector<double>;

struct StepsCase {
  int64_t rows, steps, units;
  bool backwards = false, masked = false, drops = false;
};

const StepsCase kStepsCases[] = {{3, 2, 5}, {14, 3, 3, true, true, true}, {2, 2, 33, false, true, false}};

Doubles wide(const std::vector<float>& values) { return {values.begin(), values.end()}; }
double logistic(double x) { return 1 / (1 + std::exp(-x)); }
size_t place(int64_t i) { return static_cast<size_t>(i); }

/// Tensors of a layer with this number of gates.
struct StepsData {
  StepsCase c;
  int64_t gates;
  std::vector<float> z, kernel, bias, h0, c0, factors, dy;
  std::vector<uint8_t> mask;

  StepsData(const StepsCase& of, int64_t blocks)
      : c(of),
        gates(blocks),
        z(random_floats(c.rows * c.steps * gates * c.units, 1)),
        kernel(random_floats(c.units * gates * c.units, 2, -0.5F, 0.6F)),
        bias(random_floats(gates * c.units, 3)),
        h0(random_floats(c.rows * c.units, 4)),
        c0(random_floats(c.rows * c.units, 5)),
        factors(random_floats(gates * c.rows * c.units, 6, 0.0F, 2.0F)),
        dy(random_floats(c.rows * c.steps * c.units, 7)) {
    for (int64_t i = 0; i < c.rows * c.steps; ++i) mask.push_back(i % 3 == 0 || i % 7 == 4 ? 0 : 1);
  }

  RecurrentSteps steps() const {
    return {.rows = c.rows,
            .steps = c.steps,
            .units = c.units,
            .backwards = c.backwards,
            .mask = c.masked ? mask.data() : nullptr,
            .state_factors = c.drops ? factors.data() : nullptr,
            .sequences = true};
  }
  /// Runs a pass after packing its kernel.
  template <class Pass, class Work>
  void run(Pass pass, bool backward, int64_t scratch, const Work& work) const {
    AlignedFloats packed(place(packed_recurrent_kernel(c.units, gates)));
    pack_recurrent_kernel(kernel.data(), c.units, gates, backward, packed.data());
    pass.kernel = packed.data();
    std::vector<float> workspace(place(recurrent_workspace(scratch, 3)));
    const RecurrentWork one = work(pass);
    run_recurrent({&one, 1}, workspace.data());
  }
  /// (h times a gate's dropout factors) times its columns of the kernel.
  double product(const Doubles& h, int64_t row, int64_t gate, int64_t unit) const {
    double sum = 0;
    for (int64_t k = 0; k < c.units; ++k) {
      const double factor = c.drops ? double{factors[place((gate * c.rows + row) * c.units + k)]} : 1.0;
      sum += h[place(k)] * factor * double{kernel[place((k * gates + gate) * c.units + unit)]};
    }
    return sum;
  }
  /// Calls step(sums of the gates from x, h, c) for the steps of each row; returns the outputs.
  template <class Step>
  Doubles outputs(const Doubles& sums, const Step& step) const {
    Doubles y(dy.size());
    for (int64_t row = 0; row < c.rows; ++row) {
      Doubles h(place(c.units)), cell(place(c.units)), last(place(c.units), 0.0);
      for (int64_t u = 0; u < c.units; ++u) {
        h[place(u)] = double{h0[place(row * c.units + u)]};
        cell[place(u)] = double{c0[place(row * c.units + u)]};
      }
      for (int64_t s = 0; s < c.steps; ++s) {
        const int64_t t = c.backwards ? c.steps - 1 - s : s, at = row * c.steps + t;
        if (!c.masked || mask[place(at)] != 0) {
          step(row, sums.data() + at * gates * c.units, h, cell);
          last = h;
        }
        std::copy(last.begin(), last.end(), y.begin() + (row * c.steps + s) * c.units);
      }
    }
    return y;
  }
  /// Gradient of sum(dy y) with respect to z.
  template <class Outputs>
  Doubles differences(const Outputs& of) const {
    Doubles sums = wide(z), gradient;
    const auto loss = [&] {
      const Doubles y = of(sums);
      double total = 0;
      for (size_t i = 0; i < y.size(); ++i) total += y[i] * double{dy[i]};
      return total;
    };
    for (double& value : sums) {
      const double before = value;
      value = before + 1e-5;
      const double above = loss();
      value = before - 1e-5;
      gradient.push_back((above - loss()) / 2e-5);
      value = before;
    }
    return gradient;
  }
};

Doubles lstm_outputs(const StepsData& d, const Doubles& sums) {
  return d.outputs(sums, [&](int64_t row, const double* z, Doubles& h, Doubles& c) {
    const Doubles before = h;
    for (int64_t u = 0; u < d.c.units; ++u) {
      const auto sum = [&](int64_t gate) { return z[gate * d.c.units + u] + d.product(before, row, gate, u); };
      c[place(u)] = logistic(sum(1)) * c[place(u)] + logistic(sum(0)) * std::tanh(sum(2));
      h[place(u)] = logistic(sum(3)) * std::tanh(c[place(u)]);
    }
  });
}

TEST(RecurrentKernels, LstmValuesAndGradients) {
  for (const StepsCase& c : kStepsCases) {
    SCOPED_TRACE(testing::Message() << c.rows << " rows, " << c.units << " units");
    const StepsData d(c, 4);
    const auto expected = [&](const Doubles& sums) { return lstm_outputs(d, sums); };
    const size_t states = d.dy.size();
    std::vector<float> gates(d.z.size()), hidden(states), cell(states), squashed(states);
    const LstmSaved saved{gates.data(), hidden.data(), cell.data(), squashed.data()};
    const auto work = [](const auto& pass) { return lstm_work(pass); };
    const auto forward = [&] {
      std::copy(d.z.begin(), d.z.end(), gates.begin());
      std::vector<float> y(states, std::nanf(""));
      d.run(LstmForward{.steps = d.steps(),
                        .kernel = nullptr,
                        .h0 = d.h0.data(),
                        .c0 = d.c0.data(),
                        .saved = saved,
                        .y = y.data(),
                        .h = nullptr,
                        .c = nullptr},
            false, lstm_scratch(c.units), work);
      return y;
    };
    agrees(expected(wide(d.z)), 1e-5, 1e-5, forward);
    agrees(d.differences(expected), 1e-4, 2e-5, [&] {
      forward();
      d.run(LstmBackward{.steps = d.steps(),
                         .kernel = nullptr,
                         .c0 = d.c0.data(),
                         .saved = saved,
                         .y = d.dy.data(),
                         .h = nullptr,
                         .c = nullptr,
                         .dh0 = nullptr,
                         .dc0 = nullptr},
            true, lstm_scratch(c.units), work);
      return gates;
    });
  }
}

Doubles gru_outputs(const StepsData& d, bool reset_after, const Doubles& sums) {
  return d.outputs(sums, [&](int64_t row, const double* z, Doubles& h, Doubles&) {
    const int64_t units = d.c.units;
    Doubles keep, reset, after = h, before = h;
    for (int64_t u = 0; u < units; ++u) {
      const auto open = [&](int64_t gate) {
        const double bias = reset_after ? double{d.bias[place(gate * units + u)]} : 0.0;
        return logistic(z[gate * units + u] + d.product(before, row, gate, u) + bias);
      };
      keep.push_back(open(0));
      reset.push_back(open(1));
    }
    for (int64_t u = 0; !reset_after && u < units; ++u) after[place(u)] *= reset[place(u)];
    for (int64_t u = 0; u < units; ++u) {
      const double product = d.product(after, row, 2, u);
      const double of_state =
          reset_after ? reset[place(u)] * (product + double{d.bias[place(2 * units + u)]}) : product;
      h[place(u)] = keep[place(u)] * before[place(u)] + (1 - keep[place(u)]) * std::tanh(z[2 * units + u] + of_state);
    }
  });
}

TEST(RecurrentKernels, GruValuesAndGradients) {
  for (const StepsCase& c : kStepsCases)
    for (const bool reset_after : {true, false}) {
      SCOPED_TRACE(testing::Message() << c.rows << " rows, " << c.units << " units, reset after " << reset_after);
      const StepsData d(c, 3);
      const auto expected = [&](const Doubles& sums) { return gru_outputs(d, reset_after, sums); };
      const size_t states = d.dy.size();
      std::vector<float> gates(d.z.size()), hidden(states), inner(states), recurrent(3 * states);
      const GruSaved saved{gates.data(), hidden.data(), inner.data()};
      const auto work = [](const auto& pass) { return gru_work(pass); };
      const auto forward = [&] {
        std::copy(d.z.begin(), d.z.end(), gates.begin());
        std::vector<float> y(states, std::nanf(""));
        d.run(GruForward{.steps = d.steps(),
                         .reset_after = reset_after,
                         .kernel = nullptr,
                         .bias = reset_after ? d.bias.data() : nullptr,
                         .h0 = d.h0.data(),
                         .saved = saved,
                         .y = y.data(),
                         .h = nullptr},
              false, gru_scratch(c.units), work);
        return y;
      };
      agrees(expected(wide(d.z)), 1e-5, 1e-5, forward);
      agrees(d.differences(expected), 1e-4, 2e-5, [&] {
        forward();
        d.run(GruBackward{.steps = d.steps(),
                          .reset_after = reset_after,
                          .kernel = nullptr,
                          .saved = saved,
                          .y = d.dy.data(),
                          .h = nullptr,
                          .dh0 = nullptr,
                          .recurrent = recurrent.data()},
              true, gru_scratch(c.units), work);
        return gates;
      });
    }
}

Doubles simple_rnn_outputs(const StepsData& d, const Doubles& sums) {
  return d.outputs(sums, [&](int64_t row, const double* z, Doubles& h, Doubles&) {
    const Doubles before = h;
    for (int64_t u = 0; u < d.c.units; ++u) h[place(u)] = std::tanh(z[u] + d.product(before, row, 0, u));
  });
}

TEST(RecurrentKernels, SimpleRnnValuesAndGradients) {
  for (const StepsCase& c : kStepsCases) {
    SCOPED_TRACE(testing::Message() << c.rows << " rows, " << c.units << " units");
    const StepsData d(c, 1);
    const auto expected = [&](const Doubles& sums) { return simple_rnn_outputs(d, sums); };
    const size_t states = d.dy.size();
    std::vector<float> sums(states), hidden(states);
    const SimpleRnnSaved saved{sums.data(), hidden.data()};
    const auto work = [](const auto& pass) { return simple_rnn_work(pass); };
    const auto forward = [&] {
      std::copy(d.z.begin(), d.z.end(), sums.begin());
      std::vector<float> y(states, std::nanf(""));
      d.run(
          SimpleRnnForward{
              .steps = d.steps(), .kernel = nullptr, .h0 = d.h0.data(), .saved = saved, .y = y.data(), .h = nullptr},
          false, simple_rnn_scratch(c.units), work);
      return y;
    };
    agrees(expected(wide(d.z)), 1e-5, 1e-5, forward);
    agrees(d.differences(expected), 1e-4, 2e-5, [&] {
      forward();
      d.run(
          SimpleRnnBackward{
              .steps = d.steps(), .kernel = nullptr, .saved = saved, .y = d.dy.data(), .h = nullptr, .dh0 = nullptr},
          true, simple_rnn_scratch(c.units), work);
      return sums;
    });
  }
}

/// Concurrent passes give the results of separate ones.
TEST(RecurrentKernels, TwoPassesAtOnce) {
  const StepsData one({14, 3, 5}, 1), other({14, 3, 5, true}, 1);
  const auto outputs = [](std::span<const StepsData* const> of) {
    std::vector<std::vector<float>> sums, y;
    AlignedFloats packed(place(packed_recurrent_kernel(5, 1)));
    pack_recurrent_kernel(of[0]->kernel.data(), 5, 1, false, packed.data());
    std::vector<SimpleRnnForward> passes;
    for (const StepsData* d : of) {
      sums.push_back(d->z);
      y.emplace_back(d->dy.size(), std::nanf(""));
    }
    for (size_t i = 0; i < of.size(); ++i)
      passes.push_back({.steps = of[i]->steps(),
                        .kernel = packed.data(),
                        .h0 = of[i]->h0.data(),
                        .saved = {sums[i].data(), nullptr},
                        .y = y[i].data(),
                        .h = nullptr});
    std::vector<RecurrentWork> works;
    for (const SimpleRnnForward& pass : passes) works.push_back(simple_rnn_work(pass));
    std::vector<float> workspace(place(recurrent_workspace(simple_rnn_scratch(5), 3)));
    run_recurrent(works, workspace.data());
    return y;
  };
  const StepsData* const both[] = {&one, &other};
  const auto together = outputs(both);
  EXPECT_EQ(together[0], outputs(std::span(both).first(1))[0]);
  EXPECT_EQ(together[1], outputs(std::span(both).last(1))[0]);
}

}  // namespace
}  // namespace dptrain::kernels::cpu
