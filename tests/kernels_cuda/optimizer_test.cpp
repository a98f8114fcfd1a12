#include "kernels/cuda/optimizer.h"

#include <array>
#include <cmath>

#include "kernels/cpu/adam.h"
#include "kernels/cpu/optimizer.h"
#include "kernels/cuda/adam.h"
#include "kernels/nadam_momenta.h"
#include "kernels_cuda/optimizer_arena.h"

namespace dptrain::kernels::DPTRAIN_BACKEND::test {
namespace {

/// The host's parameters of a step.
struct Hyper {
  double values[3] = {};
  StepState at(std::int64_t step) const {
    return {.step = step, .learning_rate = kRate, .hyper = {values[0], values[1], values[2]}};
  }
};

using Update = std::function<void(const UpdateState&, const UpdatedWeights&)>;

/// Three updates of both: the weights and their copies agree after each, and a step with found_inf changes nothing.
void compare(
    Arena& arena, int offset, const Update& here, const std::function<void(std::int64_t)>& there,
    const std::function<Hyper(std::int64_t)>& hyper = [](std::int64_t) { return Hyper{}; }) {
  for (std::int64_t step = 0; step < 3; ++step) {
    const DType type = step == 0 ? DType::kBf16 : step == 1 ? DType::kF16 : DType::kF32;
    Tensor copy(type, arena.n, offset);
    arena.new_gradients(static_cast<std::uint32_t>(10 + step));
    arena.set(hyper(step).at(step));

    const std::vector<float> before = arena.w.read();
    arena.set(LossScale{.found_inf = 1});
    here(arena.state(), {arena.w.data(), copy.data(), type});
    EXPECT_EQ(arena.w.read(), before);
    for (const float value : copy.read()) ASSERT_TRUE(std::isnan(value));

    arena.set(LossScale{});
    here(arena.state(), {arena.w.data(), copy.data(), type});
    there(step);
    const std::vector<float> after = arena.w.read();
    expect_near(DType::kF32, doubles(arena.cpu_w), after, 2e-6, 1e-6);
    EXPECT_EQ(copy.read(), Tensor(type, after).read());
  }
  EXPECT_EQ(arena.g.read(), arena.cpu_g);
}

TEST(Optimizer, Sgd) {
  on_every_size([](std::int64_t n, int offset) {
    for (const double momentum : {0.0, 0.9}) {
      for (const bool nesterov : {false, true}) {
        for (const double decay : {0.0, 0.1}) {
          Arena arena(n, offset);
          Slot m(n, offset);
          const bool moves = momentum != 0.0;
          compare(
              arena, offset,
              [&](const UpdateState& state, const UpdatedWeights& weights) {
                sgd_update(test_launch(), {momentum, nesterov, decay}, state, arena.g.data(), n, weights,
                           moves ? m.here.data() : nullptr);
              },
              [&](std::int64_t) {
                cpu::sgd_update({}, {momentum, nesterov, decay}, {kRate}, arena.cpu_g.data(), n, arena.cpu_w.data(),
                                moves ? m.there.data() : nullptr);
                m.expect_equal();
              });
        }
      }
    }
  });
}

double adam_rate(const AdamPass& pass, std::int64_t step) {
  const auto t = static_cast<double>(step + 1);
  return kRate * std::sqrt(1 - std::pow(pass.beta_2, t)) / (1 - std::pow(pass.beta_1, t));
}

TEST(Optimizer, Adam) {
  on_every_size([](std::int64_t n, int offset) {
    for (const bool amsgrad : {false, true}) {
      for (const AdamPass& pass : {AdamPass{}, AdamPass{.beta_1 = 0.5, .epsilon = 1e-3, .weight_decay = 0.1}}) {
        Arena arena(n, offset);
        Slot m(n, offset), v(n, offset), v_max(n, offset);
        compare(
            arena, offset,
            [&](const UpdateState& state, const UpdatedWeights& weights) {
              adam_update(test_launch(), pass, state, arena.g.data(), n, weights, m.here.data(), v.here.data(),
                          amsgrad ? v_max.here.data() : nullptr);
            },
            [&](std::int64_t step) {
              cpu::adam_update({}, pass, {kRate, step + 1}, arena.cpu_g.data(), n, arena.cpu_w.data(), m.there.data(),
                               v.there.data(), amsgrad ? v_max.there.data() : nullptr);
              m.expect_equal();
              v.expect_equal();
              v_max.expect_equal();
            },
            [&](std::int64_t step) { return Hyper{{adam_rate(pass, step)}}; });
      }
    }
  });
}

/// Skipped steps do not count in t, so the host's t is unusable.
TEST(Optimizer, AdamAfterSkippedSteps) {
  for (const AdamPass& pass : {AdamPass{}, AdamPass{.beta_1 = 0.0}}) {
    Arena arena(33, 0);
    Slot m(33, 0), v(33, 0);
    arena.set(StepState{.step = 6, .learning_rate = kRate, .hyper = {adam_rate(pass, 6)}});
    arena.set(LossScale{.skipped = 4});
    adam_update(test_launch(), pass, arena.state(), arena.g.data(), 33, {.w = arena.w.data()}, m.here.data(),
                v.here.data(), nullptr);
    cpu::adam_update({}, {.beta_1 = pass.beta_1}, {kRate, 3}, arena.cpu_g.data(), 33, arena.cpu_w.data(),
                     m.there.data(), v.there.data(), nullptr);
    expect_near(DType::kF32, doubles(arena.cpu_w), arena.w.read(), 1e-6, 1e-6);
  }
}

constexpr AdamPass kMoments{.beta_1 = 0.8, .beta_2 = 0.99, .epsilon = 1e-2, .weight_decay = 0.1};

double correction(double beta, std::int64_t step) { return 1 - std::pow(beta, static_cast<double>(step + 1)); }

/// Nadam, Adamax and Lamb, which treats the whole arena as one tensor here, and the host's parameters of a step of
/// each.
struct Relative {
  const char* name;
  std::function<void(const UpdateState&, const UpdatedWeights&, Arena&, Slot&, Slot&)> here;
  std::function<void(std::int64_t t, Arena&, Slot&, Slot&)> there;
  std::function<Hyper(std::int64_t step)> hyper;
};

std::vector<Relative> relatives() {
  return {{"Nadam",
           [](const UpdateState& state, const UpdatedWeights& weights, Arena& a, Slot& m, Slot& v) {
             nadam_update(test_launch(), kMoments, state, a.g.data(), a.n, weights, m.here.data(), v.here.data());
           },
           [](std::int64_t t, Arena& a, Slot& m, Slot& v) {
             cpu::nadam_update({}, kMoments, {kRate, t}, a.cpu_g.data(), a.n, a.cpu_w.data(), m.there.data(),
                               v.there.data());
           },
           [](std::int64_t step) {
             const NadamFactors factors = nadam_factors(kMoments.beta_1, kMoments.beta_2, step + 1);
             return Hyper{{factors.average, factors.gradient, factors.square}};
           }},
          {"Adamax",
           [](const UpdateState& state, const UpdatedWeights& weights, Arena& a, Slot& m, Slot& u) {
             adamax_update(test_launch(), kMoments, state, a.g.data(), a.n, weights, m.here.data(), u.here.data());
           },
           [](std::int64_t t, Arena& a, Slot& m, Slot& u) {
             cpu::adamax_update({}, kMoments, {kRate, t}, a.cpu_g.data(), a.n, a.cpu_w.data(), m.there.data(),
                                u.there.data());
           },
           [](std::int64_t step) { return Hyper{{kRate / correction(kMoments.beta_1, step)}}; }},
          {"Lamb",
           [](const UpdateState& state, const UpdatedWeights& weights, Arena& a, Slot& m, Slot& v) {
             const Array<Segment> whole(std::vector<Segment>{{0, a.n}});
             Array<double> workspace(lamb_workspace(1));
             lamb_update(test_launch(), kMoments, state, a.g.data(), a.n, {whole.data(), 1, a.n}, workspace.data(),
                         weights, m.here.data(), v.here.data());
           },
           [](std::int64_t t, Arena& a, Slot& m, Slot& v) {
             cpu::lamb_step(kMoments, {kRate, t}, a.cpu_g.data(), a.n, a.cpu_w.data(), m.there.data(), v.there.data());
             cpu::lamb_update(kRate, a.cpu_g.data(), a.n, a.cpu_w.data());
           },
           [](std::int64_t step) {
             return Hyper{{1 / correction(kMoments.beta_1, step), 1 / correction(kMoments.beta_2, step)}};
           }}};
}

TEST(Optimizer, RelativesOfAdam) {
  for (const Relative& relative : relatives())
    on_every_size([&](std::int64_t n, int offset) {
      SCOPED_TRACE(relative.name);
      Arena arena(n, offset);
      Slot a(n, offset), b(n, offset);
      compare(
          arena, offset,
          [&](const UpdateState& state, const UpdatedWeights& weights) { relative.here(state, weights, arena, a, b); },
          [&](std::int64_t step) {
            relative.there(step + 1, arena, a, b);
            a.expect_equal();
            b.expect_equal();
          },
          relative.hyper);
    });
}

TEST(Optimizer, RelativesOfAdamAfterSkippedSteps) {
  for (const Relative& relative : relatives()) {
    SCOPED_TRACE(relative.name);
    Arena arena(33, 0);
    Slot a(33, 0), b(33, 0);
    arena.set(relative.hyper(6).at(6));
    arena.set(LossScale{.skipped = 4});
    relative.here(arena.state(), {.w = arena.w.data()}, arena, a, b);
    relative.there(3, arena, a, b);
    expect_near(DType::kF32, doubles(arena.cpu_w), arena.w.read(), 1e-6, 1e-6);
  }
}

TEST(Optimizer, Adadelta) {
  on_every_size([](std::int64_t n, int offset) {
    Arena arena(n, offset);
    Slot v(n, offset), d(n, offset);
    compare(
        arena, offset,
        [&](const UpdateState& state, const UpdatedWeights& weights) {
          adadelta_update(test_launch(), {.rho = 0.8, .epsilon = 1e-3, .weight_decay = 0.2}, state, arena.g.data(), n,
                          weights, v.here.data(), d.here.data());
        },
        [&](std::int64_t) {
          cpu::adadelta_update({}, {0.8, 1e-3, 0.2}, {kRate}, arena.cpu_g.data(), n, arena.cpu_w.data(), v.there.data(),
                               d.there.data());
          v.expect_equal();
          d.expect_equal();
        });
  });
}

TEST(Optimizer, Lion) {
  on_every_size([](std::int64_t n, int offset) {
    Arena arena(n, offset);
    Slot m(n, offset);
    compare(
        arena, offset,
        [&](const UpdateState& state, const UpdatedWeights& weights) {
          lion_update(test_launch(), {.beta_1 = 0.8, .beta_2 = 0.9, .weight_decay = 0.2}, state, arena.g.data(), n,
                      weights, m.here.data());
        },
        [&](std::int64_t) {
          cpu::lion_update({}, {0.8, 0.9, 0.2}, {kRate}, arena.cpu_g.data(), n, arena.cpu_w.data(), m.there.data());
          m.expect_equal();
        });
  });
  Arena arena(5, 0);
  Slot m(5, 0);
  const std::vector<float> g{0, std::numeric_limits<float>::quiet_NaN(), 0, 0, 0};
  copy_bytes(arena.g.data(), g.data(), g.size() * sizeof(float));
  arena.set(StepState{.learning_rate = kRate});
  const std::vector<float> before = arena.w.read();
  lion_update(test_launch(), {}, arena.state(), arena.g.data(), 5, {.w = arena.w.data()}, m.here.data());
  EXPECT_TRUE(std::isnan(arena.w.read()[1]));
  EXPECT_EQ(arena.w.read()[0], before[0]) << "sign(0) is 0";
}

TEST(Optimizer, Rmsprop) {
  on_every_size([](std::int64_t n, int offset) {
    for (const double momentum : {0.0, 0.9}) {
      for (const bool centered : {false, true}) {
        const RmspropPass pass{.rho = 0.8, .momentum = momentum, .epsilon = 1e-2, .weight_decay = 0.1};
        Arena arena(n, offset);
        Slot v(n, offset), m(n, offset), mean(n, offset);
        compare(
            arena, offset,
            [&](const UpdateState& state, const UpdatedWeights& weights) {
              rmsprop_update(test_launch(), pass, state, arena.g.data(), n, weights, v.here.data(),
                             momentum != 0 ? m.here.data() : nullptr, centered ? mean.here.data() : nullptr);
            },
            [&](std::int64_t) {
              cpu::rmsprop_update({}, pass, {kRate}, arena.cpu_g.data(), n, arena.cpu_w.data(), v.there.data(),
                                  momentum != 0 ? m.there.data() : nullptr, centered ? mean.there.data() : nullptr);
              v.expect_equal();
              m.expect_equal();
              mean.expect_equal();
            });
      }
    }
  });
}

TEST(Optimizer, Adagrad) {
  on_every_size([](std::int64_t n, int offset) {
    Arena arena(n, offset);
    Slot sum(n, offset, 0.1F);
    compare(
        arena, offset,
        [&](const UpdateState& state, const UpdatedWeights& weights) {
          adagrad_update(test_launch(), {.epsilon = 1e-3, .weight_decay = 0.2}, state, arena.g.data(), n, weights,
                         sum.here.data());
        },
        [&](std::int64_t) {
          cpu::adagrad_update({}, {1e-3, 0.2}, {kRate}, arena.cpu_g.data(), n, arena.cpu_w.data(), sum.there.data());
          sum.expect_equal();
        });
  });
}

TEST(Optimizer, EmaInitializesCountsAndOverwrites) {
  on_every_size([](std::int64_t n, int offset) {
    Arena arena(n, offset);
    Array<float> average(n, offset);
    Tensor copy(DType::kBf16, n, offset);
    std::vector<float> expected(static_cast<std::size_t>(n));
    const auto run = [&](std::int64_t step, const LossScale& scale) {
      arena.set(StepState{.step = step});
      arena.set(scale);
      ema_update(test_launch(), 0.75, 4, arena.state(), n, {arena.w.data(), copy.data(), DType::kBf16}, average.data());
    };
    const auto change = [&](std::uint32_t seed) {
      const std::vector<float> w = random_floats(n, seed);
      copy_bytes(arena.w.data(), w.data(), w.size() * sizeof(float));
      return w;
    };
    run(0, {.found_inf = 1});  // the average is w from the start
    EXPECT_EQ(average.read(), arena.w.read());
    std::vector<float> w = change(20);
    run(1, {.skipped = 1});  // the first update
    EXPECT_EQ(average.read(), w);
    expected = w;
    for (std::int64_t step = 2; step < 4; ++step) {
      w = change(static_cast<std::uint32_t>(20 + step));
      run(step, {.skipped = 1});
      cpu::ema_update(0.75, w.data(), n, expected.data());
      expect_near(DType::kF32, doubles(expected), average.read(), 1e-6, 1e-7);
      EXPECT_EQ(arena.w.read(), w);
    }
    const std::vector<float> before = average.read();
    run(4, {.found_inf = 1, .skipped = 1});
    EXPECT_EQ(average.read(), before);
    EXPECT_EQ(arena.w.read(), w);
    for (const float value : copy.read()) ASSERT_TRUE(std::isnan(value));
    run(5, {.skipped = 2});  // the fourth
    cpu::ema_update(0.75, w.data(), n, expected.data());
    expect_near(DType::kF32, doubles(expected), average.read(), 1e-6, 1e-7);
    EXPECT_EQ(arena.w.read(), average.read());
    EXPECT_EQ(copy.read(), Tensor(DType::kBf16, average.read()).read());
  });
}

TEST(Optimizer, EmaWithoutLossScaleNeverOverwrites) {
  Arena arena(5, 0);
  Array<float> average(random_floats(5, 3));
  arena.set(StepState{.step = 7});
  const std::vector<float> w = arena.w.read();
  ema_update(test_launch(), 0.5, 0, {.step = arena.step.data()}, 5, {.w = arena.w.data()}, average.data());
  EXPECT_EQ(arena.w.read(), w);
  const std::vector<float> start = random_floats(5, 3);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_FLOAT_EQ(average.read()[i], 0.5F * start[i] + 0.5F * w[i]);
}

/// Each tensor is scaled by its own norm; gaps between tensors only decay.
TEST(Optimizer, LambByTensor) {
  const Array<Segment> rows(segments<Segment>());
  const Table<Segment> table{rows.data(), rows.size(), kLongest};
  for (const DType type : {DType::kF32, DType::kBf16}) {
    Arena arena(kArena, 0);
    Slot m(kArena, 0), v(kArena, 0);
    Tensor copy(type, kArena, 0);
    arena.set(relatives().back().hyper(0).at(0));
    Array<double> workspace(lamb_workspace(table.count));
    lamb_update(test_launch(), kMoments, arena.state(), arena.g.data(), kArena, table, workspace.data(),
                {arena.w.data(), copy.data(), type}, m.here.data(), v.here.data());
    cpu::lamb_step(kMoments, {kRate, 1}, arena.cpu_g.data(), kArena, arena.cpu_w.data(), m.there.data(),
                   v.there.data());
    for (const Range& range : kRanges)
      cpu::lamb_update(kRate, arena.cpu_g.data() + range.offset, range.length, arena.cpu_w.data() + range.offset);
    expect_near(DType::kF32, doubles(arena.cpu_w), arena.w.read(), 2e-6, 1e-6);
    const std::vector<float> found = copy.read(), weights = Tensor(type, arena.w.read()).read();
    for (const Range& range : kRanges)
      for (auto i = static_cast<std::size_t>(range.offset); i < static_cast<std::size_t>(range.offset + range.length);
           ++i)
        ASSERT_EQ(found[i], weights[i]) << i;
  }
}

TEST(Optimizer, NothingToDo) {
  Arena arena(1, 0);
  sgd_update(test_launch(), {}, arena.state(), nullptr, 0, {}, nullptr);
  clip_by_value(test_launch(), 1.0F, 0, nullptr);
  clip_by_global_norm(test_launch(), 1.0, 0, nullptr, nullptr);
  clip_by_norm(test_launch(), 1.0, {}, nullptr, nullptr);
  squares_of_segments(test_launch(), {}, nullptr, nullptr, nullptr);
  lamb_update(test_launch(), {}, arena.state(), nullptr, 0, {}, nullptr, {}, nullptr, nullptr);
  add_penalty_gradient(test_launch(), {}, nullptr, nullptr);
  update_statistics(test_launch(), {}, nullptr, nullptr, nullptr);
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND::test
