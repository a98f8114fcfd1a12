// Recurrent layers over rows of several lengths: the bits equal those of each row alone, for any order of rows in
// blocks, and for sums and states of all steps or only of valid ones.

#include <gtest/gtest.h>

#include "kernels/aligned_floats.h"
#include "kernels/cpu/masked_steps.h"
#include "kernels/cpu/recurrent.h"
#include "kernels/support.h"

namespace dptrain::kernels::cpu::lengths {
namespace {

using test::AlignedFloats;
using test::random_floats;

using Floats = std::vector<float>;

constexpr int64_t kSteps = 6;
size_t of(int64_t i) { return static_cast<size_t>(i); }

/// Padding at the end, at the start, at both, holes, only padding, and none.
std::vector<uint8_t> mixed_lengths(int64_t rows) {
  const std::vector<std::vector<uint8_t>> kinds{{1, 1, 0, 0, 0, 0}, {0, 0, 0, 1, 1, 1}, {0, 1, 1, 1, 0, 0},
                                                {1, 0, 1, 0, 0, 1}, {0, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 1, 1},
                                                {0, 0, 0, 0, 0, 1}};
  std::vector<uint8_t> mask;
  for (int64_t row = 0; row < rows; ++row) {
    const auto& kind = kinds[of(row * 3) % kinds.size()];
    mask.insert(mask.end(), kind.begin(), kind.end());
  }
  return mask;
}

/// Results of one forward and one backward pass. `gradients` (of the sums) and `hidden` are by step in all variants.
struct Results {
  Floats y, h, gradients, dh0, hidden;
};

/// [rows, ...] of some rows.
struct Inputs {
  int64_t rows = 0, units = 0, gates = 0;
  Floats z, h0, dy, factors;
  std::vector<uint8_t> mask;

  Inputs(int64_t count, int64_t width, int64_t blocks)
      : rows(count),
        units(width),
        gates(blocks),
        z(random_floats(rows * kSteps * gates * units, 1)),
        h0(random_floats(rows * units, 2)),
        dy(random_floats(rows * kSteps * units, 3)),
        factors(random_floats(gates * rows * units, 4, 0.0F, 2.0F)),
        mask(mixed_lengths(rows)) {}

  Inputs one(int64_t row) const {
    Inputs part = *this;
    const auto cut = [&](auto& values, int64_t size) {
      const auto begin = values.begin() + row * size;
      values = std::remove_reference_t<decltype(values)>(begin, begin + size);
    };
    part.rows = 1;
    cut(part.z, kSteps * gates * units);
    cut(part.h0, units);
    cut(part.dy, kSteps * units);
    cut(part.mask, kSteps);
    part.factors.clear();
    for (int64_t gate = 0; gate < gates; ++gate)
      part.factors.insert(part.factors.end(), factors.begin() + (gate * rows + row) * units,
                          factors.begin() + (gate * rows + row + 1) * units);
    return part;
  }
};

struct Variant {
  bool backwards = false, drops = false, sorted = false, packed = false;
};

/// `cell(steps, z, forward kernel, backward kernel)` runs both passes on sums z.
template <class Cell>
Results results(const Inputs& in, const Variant& way, const Cell& cell) {
  std::vector<int32_t> order(of(in.rows)), scratch(of(2 * in.rows)), places(of(in.rows * kSteps));
  order_by_length(in.mask.data(), in.rows, kSteps, order.data(), scratch.data());
  const int64_t valid = place_valid_steps(in.mask.data(), in.rows, kSteps, places.data());
  const RecurrentSteps steps{.rows = in.rows,
                             .steps = kSteps,
                             .units = in.units,
                             .backwards = way.backwards,
                             .mask = in.mask.data(),
                             .order = way.sorted ? order.data() : nullptr,
                             .places = way.packed ? places.data() : nullptr,
                             .state_factors = way.drops ? in.factors.data() : nullptr,
                             .sequences = true};
  const Floats kernel = random_floats(in.units * in.gates * in.units, 5, -0.5F, 0.6F);
  const size_t packed = of(packed_recurrent_kernel(in.units, in.gates));
  AlignedFloats forward(packed), backward(packed);
  pack_recurrent_kernel(kernel.data(), in.units, in.gates, false, forward.data());
  pack_recurrent_kernel(kernel.data(), in.units, in.gates, true, backward.data());
  Floats z = in.z;
  const int64_t width = in.gates * in.units;
  if (way.packed) {
    z.assign(of(valid * width), 0.0F);
    gather_valid_steps(in.z.data(), places.data(), in.rows * kSteps, width, z.data());
  }
  Results found = cell(in, steps, z, forward.data(), backward.data());
  if (!way.packed) return found;
  const auto scatter = [&](Floats& values, int64_t columns) {
    Floats all(of(in.rows * kSteps * columns));
    scatter_valid_steps(values.data(), places.data(), in.rows * kSteps, columns, all.data());
    values = all;
  };
  scatter(found.gradients, width);
  scatter(found.hidden, in.units);
  return found;
}

Floats states(const Inputs& in, const Floats& z) { return Floats(z.size() / of(in.gates), std::nanf("")); }
Floats outputs(const Inputs& in) { return Floats(of(in.rows * kSteps * in.units), std::nanf("")); }
Floats last(const Inputs& in) { return Floats(of(in.rows * in.units), std::nanf("")); }

template <class Pass>
void run(RecurrentWork (*work)(const Pass&), const Pass& pass, int64_t scratch) {
  Floats workspace(of(recurrent_workspace(scratch, 3)));
  const RecurrentWork one = work(pass);
  run_recurrent({&one, 1}, workspace.data());
}

Results lstm(const Inputs& in, const RecurrentSteps& steps, Floats z, const float* forward, const float* backward) {
  Results found{outputs(in), last(in), {}, last(in), states(in, z)};
  Floats cell = states(in, z), squashed = cell, c = last(in), dc0 = c;
  const LstmSaved saved{z.data(), found.hidden.data(), cell.data(), squashed.data()};
  run<LstmForward>(lstm_work,
                   {.steps = steps,
                    .kernel = forward,
                    .h0 = in.h0.data(),
                    .c0 = in.h0.data(),
                    .saved = saved,
                    .y = found.y.data(),
                    .h = found.h.data(),
                    .c = c.data()},
                   lstm_scratch(in.units));
  run<LstmBackward>(lstm_work,
                    {.steps = steps,
                     .kernel = backward,
                     .c0 = in.h0.data(),
                     .saved = saved,
                     .y = in.dy.data(),
                     .h = in.h0.data(),
                     .c = in.h0.data(),
                     .dh0 = found.dh0.data(),
                     .dc0 = dc0.data()},
                    lstm_scratch(in.units));
  found.h.insert(found.h.end(), c.begin(), c.end());
  found.dh0.insert(found.dh0.end(), dc0.begin(), dc0.end());
  found.gradients = z;
  return found;
}

template <bool kResetAfter>
Results gru(const Inputs& in, const RecurrentSteps& steps, Floats z, const float* forward, const float* backward) {
  Results found{outputs(in), last(in), {}, last(in), states(in, z)};
  Floats inner = states(in, z), recurrent(z.size(), std::nanf(""));
  const GruSaved saved{z.data(), found.hidden.data(), inner.data()};
  run<GruForward>(gru_work,
                  {.steps = steps,
                   .reset_after = kResetAfter,
                   .kernel = forward,
                   .bias = nullptr,
                   .h0 = in.h0.data(),
                   .saved = saved,
                   .y = found.y.data(),
                   .h = found.h.data()},
                  gru_scratch(in.units));
  run<GruBackward>(gru_work,
                   {.steps = steps,
                    .reset_after = kResetAfter,
                    .kernel = backward,
                    .saved = saved,
                    .y = in.dy.data(),
                    .h = in.h0.data(),
                    .dh0 = found.dh0.data(),
                    .recurrent = recurrent.data()},
                   gru_scratch(in.units));
  for (const float value : inner) EXPECT_TRUE(std::isfinite(value)) << "multiplied by zeros";
  for (const float value : recurrent) EXPECT_TRUE(!kResetAfter || std::isfinite(value));
  found.gradients = z;
  return found;
}

Results simple_rnn(const Inputs& in, const RecurrentSteps& steps, Floats z, const float* forward,
                   const float* backward) {
  Results found{outputs(in), last(in), {}, last(in), states(in, z)};
  const SimpleRnnSaved saved{z.data(), found.hidden.data()};
  run<SimpleRnnForward>(
      simple_rnn_work,
      {.steps = steps, .kernel = forward, .h0 = in.h0.data(), .saved = saved, .y = found.y.data(), .h = found.h.data()},
      simple_rnn_scratch(in.units));
  run<SimpleRnnBackward>(simple_rnn_work,
                         {.steps = steps,
                          .kernel = backward,
                          .saved = saved,
                          .y = in.dy.data(),
                          .h = in.h0.data(),
                          .dh0 = found.dh0.data()},
                         simple_rnn_scratch(in.units));
  found.gradients = z;
  return found;
}

/// Values of the valid steps; zeros at others.
Floats valid_of(const Inputs& in, const Floats& values) {
  Floats valid = values;
  const size_t width = values.size() / in.mask.size();
  for (size_t i = 0; i < valid.size(); ++i)
    if (in.mask[i / width] == 0) valid[i] = 0;
  return valid;
}

/// Compares bits except the sign of zero.
void expect_same(const Inputs& in, const Results& expected, const Results& found) {
  EXPECT_EQ(expected.y, found.y);
  EXPECT_EQ(expected.h, found.h);
  EXPECT_EQ(expected.gradients, found.gradients);
  EXPECT_EQ(expected.dh0, found.dh0);
  EXPECT_EQ(valid_of(in, expected.hidden), valid_of(in, found.hidden));
}

/// Row by row, one call each.
template <class Cell>
Results by_row(const Inputs& in, const Variant& way, const Cell& cell) {
  Results all{};
  Floats c, dc0;
  for (int64_t row = 0; row < in.rows; ++row) {
    const Results one = results(in.one(row), way, cell);
    const auto add = [](Floats& to, const Floats& from) { to.insert(to.end(), from.begin(), from.end()); };
    add(all.y, one.y);
    add(all.gradients, one.gradients);
    add(all.hidden, one.hidden);
    const auto units = static_cast<std::ptrdiff_t>(in.units);
    all.h.insert(all.h.end(), one.h.begin(), one.h.begin() + units);
    c.insert(c.end(), one.h.begin() + units, one.h.end());
    all.dh0.insert(all.dh0.end(), one.dh0.begin(), one.dh0.begin() + units);
    dc0.insert(dc0.end(), one.dh0.begin() + units, one.dh0.end());
  }
  all.h.insert(all.h.end(), c.begin(), c.end());
  all.dh0.insert(all.dh0.end(), dc0.begin(), dc0.end());
  return all;
}

template <class Cell>
void check_lengths(int64_t gates, const Cell& cell) {
  for (const int64_t units : {5, 20})
    for (const bool backwards : {false, true})
      for (const bool drops : {false, true}) {
        SCOPED_TRACE(testing::Message() << units << " units, backwards " << backwards << ", drops " << drops);
        const Inputs in(29, units, gates);
        test::on_every_target([&] {
          const Results expected = by_row(in, {backwards, drops}, cell);
          for (const float value : expected.hidden) EXPECT_TRUE(std::isfinite(value)) << "multiplied by zeros";
          EXPECT_EQ(expected.gradients, valid_of(in, expected.gradients)) << "zeros at masked steps";
          for (const int threads : {1, 3}) {
            test::use_threads(threads);
            for (const bool sorted : {false, true})
              for (const bool packed : {false, true})
                expect_same(in, expected, results(in, {backwards, drops, sorted, packed}, cell));
          }
          test::use_threads(1);
        });
      }
}

TEST(RecurrentLengths, Lstm) { check_lengths(4, lstm); }
TEST(RecurrentLengths, Gru) { check_lengths(3, gru<true>); }
TEST(RecurrentLengths, GruThatResetsBefore) { check_lengths(3, gru<false>); }
TEST(RecurrentLengths, SimpleRnn) { check_lengths(1, simple_rnn); }

TEST(ValidSteps, OrderOfRows) {
  // Steps [begin, end) of each row: 1-3, 0-4, none, 0-2, 0-4.
  const std::vector<uint8_t> mask{0, 1, 1, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1};
  std::vector<int32_t> order(5), scratch(10), places(20);
  order_by_length(mask.data(), 5, 4, order.data(), scratch.data());
  EXPECT_EQ(order, (std::vector<int32_t>{1, 4, 3, 0, 2}));
  EXPECT_EQ(place_valid_steps(mask.data(), 5, 4, places.data()), 11);
  EXPECT_EQ(places, (std::vector<int32_t>{-1, 0, 1, -1, 2, -1, 3, 4, -1, -1, -1, -1, 5, 6, -1, -1, 7, 8, 9, 10}));
}

TEST(ValidSteps, GatheredAndScattered) {
  const std::vector<int32_t> places{-1, 0, 1, -1, 2};
  const Floats from{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const Floats packed =
      test::written_floats(6, [&](float* to) { gather_valid_steps(from.data(), places.data(), 5, 2, to); });
  EXPECT_EQ(packed, (Floats{3, 4, 5, 6, 9, 10}));
  const Floats all =
      test::written_floats(10, [&](float* to) { scatter_valid_steps(packed.data(), places.data(), 5, 2, to); });
  EXPECT_EQ(all, (Floats{0, 0, 3, 4, 5, 6, 0, 0, 9, 10}));
}

}  // namespace
}  // namespace dptrain::kernels::cpu::lengths
