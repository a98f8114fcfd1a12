#include "kernels/cpu/optimizer.h"

#include "kernels/cpu/adam.h"
#include "kernels/nadam_momenta.h"

#include <gtest/gtest.h>

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::at;
using test::random_floats;

constexpr int64_t kN = kPieceElements + 37;
constexpr int kSteps = 3;

/// Weights and three slots, in double for the reference and in float for the kernel.
template <class T>
struct State {
  std::vector<T> w, a, b, c;
};

std::vector<float> gradient_of(int step) { return random_floats(kN, 100 + static_cast<uint32_t>(step)); }

State<double> start() {
  const std::vector<double> w = test::exactly(random_floats(kN, 1));
  return {w, std::vector<double>(w.size(), 0.1), std::vector<double>(w.size(), 0.1),
          std::vector<double>(w.size(), 0.1)};
}

/// Compares kSteps updates of every element by `reference(w, a, b, c, g, t)` with the kernel, in all four arrays.
void check(const std::function<void(double&, double&, double&, double&, double, int)>& reference,
           const std::function<void(State<float>&, const float*, int)>& kernel) {
  State<double> expected = start();
  for (int step = 1; step <= kSteps; ++step) {
    const std::vector<float> g = gradient_of(step);
    for (size_t i = 0; i < g.size(); ++i)
      reference(expected.w[i], expected.a[i], expected.b[i], expected.c[i], static_cast<double>(g[i]), step);
  }
  std::vector<double> all = expected.w;
  for (const std::vector<double>* part : {&expected.a, &expected.b, &expected.c})
    all.insert(all.end(), part->begin(), part->end());
  // A few roundings per step, of numbers up to 4.
  agrees(all, 2e-6, 1e-6, [&] {
    const State<double> exact = start();
    const auto rounded = [](const std::vector<double>& v) { return std::vector<float>(v.begin(), v.end()); };
    State<float> state{rounded(exact.w), rounded(exact.a), rounded(exact.b), rounded(exact.c)};
    for (int step = 1; step <= kSteps; ++step) kernel(state, gradient_of(step).data(), step);
    std::vector<float> found = state.w;
    for (const std::vector<float>* part : {&state.a, &state.b, &state.c})
      found.insert(found.end(), part->begin(), part->end());
    return found;
  });
}

TEST(Optimizer, Sgd) {
  for (const double decay : {0.0, 0.04})
    check([&](double& w, double&, double&, double&, double g, int) { w -= 0.1 * decay * w + 0.1 * g; },
          [&](State<float>& s, const float* g, int) {
            sgd_update({}, {.weight_decay = decay}, {.learning_rate = 0.1}, g, kN, s.w.data(), nullptr);
          });
  for (const bool nesterov : {false, true}) {
    check(
        [&](double& w, double& m, double&, double&, double g, int) {
          m = 0.9 * m - 0.1 * g;
          w += nesterov ? 0.9 * m - 0.1 * g : m;
        },
        [&](State<float>& s, const float* g, int) {
          sgd_update({}, {.momentum = 0.9, .nesterov = nesterov}, {.learning_rate = 0.1}, g, kN, s.w.data(),
                     s.a.data());
        });
  }
}

TEST(Optimizer, AdamAndItsVariants) {
  for (const bool amsgrad : {false, true}) {
    for (const double decay : {0.0, 0.04}) {
      check(
          [&](double& w, double& m, double& v, double& v_max, double g, int t) {
            w -= 0.01 * decay * w;
            m += (g - m) * (1.0 - 0.9);
            v += (g * g - v) * (1.0 - 0.999);
            if (amsgrad) v_max = std::max(v_max, v);
            const double rate = 0.01 * std::sqrt(1.0 - std::pow(0.999, t)) / (1.0 - std::pow(0.9, t));
            w -= rate * m / (std::sqrt(amsgrad ? v_max : v) + 1e-7);
          },
          [&](State<float>& s, const float* g, int t) {
            adam_update({}, {.weight_decay = decay}, {.learning_rate = 0.01, .step = t}, g, kN, s.w.data(), s.a.data(),
                        s.b.data(), amsgrad ? s.c.data() : nullptr);
          });
    }
  }
}

TEST(Optimizer, AdamsFirstStepFromZeroIsTheLearningRate) {
  test::on_every_target([] {
    std::vector<float> w(5, 1.0F), m(5, 0.0F), v(5, 0.0F);
    const std::vector<float> g = {0.5F, -0.5F, 100.0F, -1e-3F, 0.0F};
    adam_update({}, {}, {.learning_rate = 0.25}, g.data(), 5, w.data(), m.data(), v.data(), nullptr);
    const float expected[] = {0.75F, 1.25F, 0.75F, 1.25F, 1.0F};
    // epsilon 1e-7 has no bias correction: compared with sqrt(v) = 1e-3 sqrt(0.001), it changes the third digit.
    for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(w[i], expected[i], i == 3 ? 1e-3 : 2e-6) << i;
  });
}

TEST(Optimizer, Rmsprop) {
  for (const bool centered : {false, true}) {
    for (const double momentum : {0.0, 0.8}) {
      check(
          [&](double& w, double& v, double& m, double& mean, double g, int) {
            w -= 0.02 * 0.1 * w;
            v = 0.9 * v + 0.1 * g * g;
            double variance = v;
            if (centered) {
              mean = 0.9 * mean + 0.1 * g;
              variance -= mean * mean;
            }
            double move = 0.02 * g / std::sqrt(variance + 1e-7);
            if (momentum > 0.0) move = m = momentum * m + move;
            w -= move;
          },
          [&](State<float>& s, const float* g, int) {
            rmsprop_update({}, {.momentum = momentum, .weight_decay = 0.1}, {.learning_rate = 0.02}, g, kN, s.w.data(),
                           s.a.data(), momentum > 0.0 ? s.b.data() : nullptr, centered ? s.c.data() : nullptr);
          });
    }
  }
}

TEST(Optimizer, AdagradDecayAndAverage) {
  check(
      [](double& w, double& sum, double& average, double&, double g, int) {
        w -= 1e-3 * w;
        sum += g * g;
        w -= 0.1 * g / std::sqrt(sum + 1e-7);
        average = 0.99 * average + (1.0 - 0.99) * w;
      },
      [](State<float>& s, const float* g, int) {
        adagrad_update({}, {.weight_decay = 0.01}, {.learning_rate = 0.1}, g, kN, s.w.data(), s.a.data());
        ema_update(0.99, s.w.data(), kN, s.b.data());
      });
}

constexpr AdamPass kMoments{.beta_1 = 0.8, .beta_2 = 0.99, .epsilon = 1e-3, .weight_decay = 0.04};

UpdateState update_at(int t) { return {.learning_rate = 0.01, .step = t}; }

void move_moments(double& m, double& v, double g) {
  m += (g - m) * (1.0 - kMoments.beta_1);
  v += (g * g - v) * (1.0 - kMoments.beta_2);
}

TEST(Optimizer, Nadam) {
  double product = 1;
  int last = 0;
  check(
      [&](double& w, double& m, double& v, double&, double g, int t) {
        const auto u = [](int i) { return kMoments.beta_1 * (1.0 - 0.5 * std::pow(0.96, i)); };
        if (t != last) product *= u(last = t);  // Keras's recurrence, once per step
        move_moments(m, v, g);
        const double mean = u(t + 1) * m / (1.0 - product * u(t + 1)) + (1.0 - u(t)) * g / (1.0 - product);
        w -= 0.01 * 0.04 * w;
        w -= 0.01 * mean / (std::sqrt(v / (1.0 - std::pow(kMoments.beta_2, t))) + kMoments.epsilon);
      },
      [](State<float>& s, const float* g, int t) {
        nadam_update({}, kMoments, update_at(t), g, kN, s.w.data(), s.a.data(), s.b.data());
      });
}

/// The factors depend only on the step, also after the product of the momenta has become too small to matter.
TEST(Optimizer, NadamsFactorsFollowTheRecurrence) {
  for (const double beta_1 : {0.0, 0.9, 0.999999}) {
    double product = 1;
    const auto u = [&](int64_t i) { return beta_1 * (1.0 - 0.5 * std::pow(0.96, static_cast<double>(i))); };
    for (int64_t t = 1; t <= 3000; ++t) {
      product *= u(t);
      const NadamFactors found = nadam_factors(beta_1, 0.999, t);
      ASSERT_NEAR(found.average, u(t + 1) / (1.0 - product * u(t + 1)), 1e-11) << t;
      ASSERT_NEAR(found.gradient, (1.0 - u(t)) / (1.0 - product), 1e-11) << t;
      ASSERT_NEAR(found.square, 1.0 / (1.0 - std::pow(0.999, t)), 1e-9) << t;
    }
  }
}

TEST(Optimizer, Adamax) {
  check(
      [](double& w, double& m, double& u, double&, double g, int t) {
        double square = 0;
        move_moments(m, square, g);
        u = std::max(kMoments.beta_2 * u, std::abs(g));
        w -= 0.01 * 0.04 * w;
        w -= 0.01 / (1.0 - std::pow(kMoments.beta_1, t)) * m / (u + kMoments.epsilon);
      },
      [](State<float>& s, const float* g, int t) {
        adamax_update({}, kMoments, update_at(t), g, kN, s.w.data(), s.a.data(), s.b.data());
      });
}

TEST(Optimizer, Adadelta) {
  check(
      [](double& w, double& v, double& d, double&, double g, int) {
        v = 0.9 * v + (1.0 - 0.9) * g * g;
        const double move = std::sqrt(d + 1e-3) * g / std::sqrt(v + 1e-3);
        d = 0.9 * d + (1.0 - 0.9) * move * move;
        w -= 0.5 * 0.04 * w;
        w -= 0.5 * move;
      },
      [](State<float>& s, const float* g, int) {
        adadelta_update({}, {.rho = 0.9, .epsilon = 1e-3, .weight_decay = 0.04}, {.learning_rate = 0.5}, g, kN,
                        s.w.data(), s.a.data(), s.b.data());
      });
}

TEST(Optimizer, Lion) {
  check(
      [](double& w, double& m, double&, double&, double g, int) {
        const double ahead = 0.8 * m + (1.0 - 0.8) * g;
        w -= 0.01 * 0.04 * w;
        w -= 0.01 * static_cast<double>((ahead > 0) - (ahead < 0));
        m = 0.9 * m + (1.0 - 0.9) * g;
      },
      [](State<float>& s, const float* g, int) {
        lion_update({}, {.beta_1 = 0.8, .beta_2 = 0.9, .weight_decay = 0.04}, {.learning_rate = 0.01}, g, kN,
                    s.w.data(), s.a.data());
      });
  test::on_every_target([] {
    std::vector<float> w(19, 1.0F), m(19, 0.0F), g(19, 0.0F);
    g[7] = NAN;
    lion_update({}, {}, {.learning_rate = 0.5}, g.data(), 19, w.data(), m.data());
    for (size_t i = 0; i < 19; ++i) EXPECT_EQ(std::isnan(w[i]), i == 7);
    EXPECT_EQ(w[0], 1.0F);  // sign(0) is 0
  });
}

TEST(Optimizer, LambScalesEachTensorByItsNorm) {
  const int64_t border = 1000;  // two tensors, the second of many pieces
  State<double> expected = start();
  for (int t = 1; t <= kSteps; ++t) {
    const std::vector<float> g = gradient_of(t);
    for (const auto& [begin, end] : {std::pair(int64_t{0}, border), std::pair(border, kN)}) {
      std::vector<double> move;
      double of_weights = 0, of_move = 0;
      for (int64_t k = begin; k < end; ++k) {
        const auto i = static_cast<size_t>(k);
        move_moments(expected.a[i], expected.b[i], static_cast<double>(g[i]));
        expected.w[i] -= 0.01 * 0.04 * expected.w[i];
        move.push_back(expected.a[i] / (1.0 - std::pow(kMoments.beta_1, t)) /
                       (std::sqrt(expected.b[i] / (1.0 - std::pow(kMoments.beta_2, t))) + kMoments.epsilon));
        of_weights += expected.w[i] * expected.w[i];
        of_move += move.back() * move.back();
      }
      for (int64_t k = begin; k < end; ++k)
        expected.w[static_cast<size_t>(k)] -=
            0.01 * std::sqrt(of_weights / of_move) * move[static_cast<size_t>(k - begin)];
    }
  }
  agrees(expected.w, 2e-6, 1e-6, [&] {
    const State<double> exact = start();
    std::vector<float> w(exact.w.begin(), exact.w.end()), m(exact.a.begin(), exact.a.end()), v = m;
    for (int t = 1; t <= kSteps; ++t) {
      std::vector<float> g = gradient_of(t);
      lamb_step(kMoments, update_at(t), g.data(), kN, w.data(), m.data(), v.data());
      lamb_update(0.01, g.data(), border, w.data());
      lamb_update(0.01, g.data() + border, kN - border, w.data() + border);
    }
    return w;
  });
  test::on_every_target([] {  // a zero norm: Adam's step
    std::vector<float> w(3, 0.0F);
    const std::vector<float> g{1, -1, 0}, none(3, 0.0F);
    lamb_update(0.5, g.data(), 3, w.data());
    EXPECT_EQ(w, (std::vector<float>{-0.5F, 0.5F, 0}));
    lamb_update(0.5, none.data(), 3, w.data());
    EXPECT_EQ(w, (std::vector<float>{-0.5F, 0.5F, 0}));
  });
}

TEST(FlatPasses, ClipScaleAndRegularisers) {
  std::vector<float> x = random_floats(kN, 20);
  x[3] = 0.0F;
  const std::vector<float> g = random_floats(kN, 21);
  std::vector<double> clipped, scaled, regularised;
  double value = 0.0, squares = 0.0;
  for (int64_t i = 0; i < kN; ++i) {
    const double w = at(x, i), sign = static_cast<double>((w > 0.0) - (w < 0.0));
    clipped.push_back(std::min(std::max(w, -0.75), 0.75));
    scaled.push_back(w * 3.0);
    regularised.push_back(at(g, i) + 0.5 * (0.01 * sign + 2.0 * 0.02 * w));
    value += 0.01 * std::abs(w) + 0.02 * w * w;
    squares += w * w;
  }
  const auto on_copy = [](const std::vector<float>& from, const std::function<void(float*)>& pass) {
    std::vector<float> copy = from;
    pass(copy.data());
    return copy;
  };
  agrees(clipped, 0.0, 0.0, [&] { return on_copy(x, [](float* y) { clip_by_value(0.75F, kN, y); }); });
  agrees(scaled, 1e-7, 0.0, [&] { return on_copy(x, [](float* y) { scale(3.0F, kN, y); }); });
  agrees(regularised, 1e-6, 1e-7,
         [&] { return on_copy(g, [&](float* y) { add_l1l2_gradient(x.data(), kN, 0.01F, 0.02F, 0.5F, y); }); });
  test::on_every_target([&] {
    for (const int threads : {1, 3}) {
      test::use_threads(threads);
      EXPECT_NEAR(sum_of_squares(x.data(), kN), squares, 1e-10 * squares);
      EXPECT_NEAR(l1l2_value(x.data(), kN, 0.01F, 0.02F), value, 1e-7 * value);  // 0.01F is not 0.01
    }
    test::use_threads(1);
  });
  EXPECT_EQ(sum_of_squares(nullptr, 0), 0.0);
}

TEST(FlatPasses, SumOfSquaresHasTheSameBitsOnAnyNumberOfThreads) {
  const std::vector<float> x = random_floats(100 * kPieceElements + 11, 22);
  const int64_t n = static_cast<int64_t>(x.size());
  test::on_every_target([&] {
    const double alone = sum_of_squares(x.data(), n);
    test::use_threads(3);
    EXPECT_EQ(sum_of_squares(x.data(), n), alone);
    test::use_threads(1);
  });
}

TEST(FlatPasses, FindsNonFiniteNumbers) {
  std::vector<float> x = random_floats(kN, 23);
  x[5] = std::numeric_limits<float>::max();
  x[6] = std::numeric_limits<float>::denorm_min();
  test::on_every_target([&] {
    EXPECT_TRUE(all_finite(x.data(), kN));
    EXPECT_TRUE(all_finite(nullptr, 0));
    for (const size_t place : {size_t{0}, size_t{9}, static_cast<size_t>(kN - 1)}) {
      for (const float wrong : {NAN, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
        std::vector<float> y = x;
        y[place] = wrong;
        EXPECT_FALSE(all_finite(y.data(), kN)) << place;
      }
    }
  });
}

TEST(FlatPasses, ClippingKeepsNan) {
  test::on_every_target([] {
    std::vector<float> x(19, NAN);
    clip_by_value(1.0F, 19, x.data());
    for (const float value : x) EXPECT_TRUE(std::isnan(value));
  });
}

}  // namespace
}  // namespace dptrain::kernels::cpu
