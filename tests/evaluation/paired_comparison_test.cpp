// Runs compared with a baseline: the exact distribution, and how often noise fails a gate or a loss is detected. The
// simulations have ten classes, as Fashion-MNIST, with its rate of different answers between seeds.

#include "evaluation/paired_comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "evaluation/gate_checks.h"

namespace dptrain::evaluation {
namespace {

TEST(Paired, OneRunAgainstOneIsMcNemarsExactTest) {
  PairedCounts counts(1, 1);
  counts.add({1, 0}, 9);
  counts.add({0, 1}, 2);
  counts.add({1, 1}, 80);
  counts.add({0, 0}, 9);
  const Drop drop = drop_of(counts, {});
  EXPECT_NEAR(drop.found, 0.07, 1e-12);
  EXPECT_NEAR(drop.p, (1 + 11 + 55) / 2048.0, 1e-12) << "at most 2 of 11 coins";
  EXPECT_NEAR(drop.deviation, std::sqrt(11) / 100, 1e-12);
  EXPECT_NEAR(counts.disagreement(), 0.11, 1e-12);
}

TEST(Paired, SeveralRunsFollowTheHypergeometricDistribution) {
  PairedCounts counts(2, 1);
  counts.add({1, 1, 0});  // one wrong answer: the candidate's with probability 1/3
  counts.add({1, 0, 0});  // one right answer: not the candidate's with probability 2/3
  EXPECT_NEAR(drop_of(counts, {}).p, 1.0 / 3 * 2 / 3, 1e-12);
  EXPECT_NEAR(drop_of(counts, {}).found, 0.75, 1e-12);
}

TEST(Paired, EqualAnswersHaveNoDrop) {
  PairedCounts counts(2, 2);
  counts.add({1, 1, 1, 1}, 90);
  counts.add({0, 0, 0, 0}, 10);
  const Drop drop = drop_of(counts, dispersion(counts));
  EXPECT_EQ(drop.found, 0);
  EXPECT_EQ(drop.p, 1);
  EXPECT_EQ(drop.deviation, 0);
}

TEST(Paired, SeveralRunsRevealVarianceOfWholeClasses) {
  PairedCounts counts(2, 2);
  counts.add({1, 1, 1, 1}, 800);
  counts.add({1, 0, 1, 0}, 60);  // always the same runs
  counts.add({0, 1, 0, 1}, 10);
  const Dispersion found = dispersion(counts);
  EXPECT_EQ(found.freedom, 2);
  // the runs of a side differ by 50: 1250 on each; a run's variance sample by sample is 70 / 4 * 4 / 3
  EXPECT_NEAR(found.factor, 2500 / (2 * 70.0 / 3), 1e-9);
}

TEST(Paired, SimilarClassesShareVarianceEstimates) {
  const auto of = [](std::int64_t first, std::int64_t second) {
    PairedCounts counts(2, 2);
    counts.add({1, 0, 1, 0}, first);
    counts.add({0, 1, 0, 1}, second);
    return counts;
  };
  const std::vector<Dispersion> alike = dispersions({of(40, 30), of(42, 28), of(41, 29)});
  EXPECT_EQ(alike[0].freedom, 6);
  EXPECT_EQ(alike[0].factor, alike[1].factor);
  const std::vector<Dispersion> unlike = dispersions({of(69, 1), of(36, 34), of(41, 29), of(36, 34)});
  EXPECT_LT(unlike[0].freedom, 4);
  EXPECT_GT(unlike[0].factor, 5 * unlike[2].factor);
}

/// Parameters of simulated seeds and losses.
struct World {
  int samples = 1000;  ///< per class
  double disagreement = 0.05;
  int runs = 1;     ///< per side
  double lost = 0;  ///< from the recall of the first class
  double tilt = 0;  ///< change of the probabilities of a class's uncertain samples by seeds; some classes 5 times
};

struct Rates {
  int any = 0, first_class = 0;  ///< of 1000: runs with any failed gate, with a failed gate of the first class
};

class Dice {
 public:
  double share() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }
  /// Roughly normal: the sum of twelve uniform numbers.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += share();
    return sum;
  }

 private:
  std::mt19937_64 engine_{19};
};

PairedCounts made_class(const World& world, double lost, double tilt, Dice& dice) {
  const int all = 2 * world.runs;
  PairedCounts counts(world.runs, world.runs);
  std::vector<double> tilts;
  for (int run = 0; run < all; ++run) tilts.push_back(tilt * dice.normal());
  // Uncertain samples have a probability p of a right answer, uniform in [0, 1): two runs disagree on a third of them.
  const int unsure = static_cast<int>(std::lround(3 * world.disagreement * world.samples));
  const double kept = 1 - lost * world.samples / (unsure / 2.0);
  std::vector<char> right(static_cast<std::size_t>(all));
  for (int i = 0; i < unsure; ++i) {
    const double chance = dice.share();
    for (int run = 0; run < all; ++run) {
      const auto at = static_cast<std::size_t>(run);
      right[at] = dice.share() < chance * (run < world.runs ? 1 : kept) + tilts[at] ? 1 : 0;
    }
    counts.add(right);
  }
  counts.add(std::vector<char>(right.size(), 1), world.samples - unsure);
  return counts;
}

Rates simulated(const World& world) {
  Dice dice;
  Rates rates;
  for (int call = 0; call < 1000; ++call) {
    std::vector<PairedCounts> classes;
    std::vector<DropGate> gates;
    for (int c = 0; c < 10; ++c) {
      classes.push_back(made_class(world, c == 0 ? world.lost : 0, world.tilt * (0.5 + c % 3), dice));
      gates.push_back({.name = "recall", .counts = classes.back(), .limit = {.value = 0.02}});
    }
    PairedCounts whole(world.runs, world.runs);
    for (const PairedCounts& one : classes) whole.add(one);
    gates.push_back({.name = "accuracy", .counts = whole, .limit = {.value = 0.01}});
    if (world.runs > 1) {  // trainings; otherwise models
      const std::vector<Dispersion> found = dispersions(classes);
      for (std::size_t c = 0; c < found.size(); ++c) gates[c].dispersion = found[c];
      gates.back().dispersion = dispersion(whole);
    }
    const DropVerdicts verdicts = check_drop_gates(gates, 0.99);
    rates.any += any_failed(verdicts.verdicts) ? 1 : 0;
    rates.first_class += verdicts.verdicts.front().failed ? 1 : 0;
  }
  return rates;
}

TEST(GatesOfABaseline, FiveRunsPerSideDetectALossOfTwoPoints) {
  EXPECT_LT(simulated({.runs = 5}).any, 10);
  EXPECT_GE(simulated({.runs = 5, .lost = 0.02}).first_class, 950);
}

TEST(GatesOfABaseline, OneModelPerSideDetectsALossWithFourThousandSamples) {
  EXPECT_LT(simulated({.samples = 4000}).any, 10);
  EXPECT_GE(simulated({.samples = 4000, .lost = 0.02}).first_class, 950);
}

TEST(GatesOfABaseline, OneModelPerSideHasFewFalseAlarms) {
  EXPECT_LT(simulated({}).any, 10);
  const Rates lost = simulated({.lost = 0.02});
  EXPECT_GT(lost.first_class, 200);
  EXPECT_LT(lost.first_class, 500) << "docs/reference/gates.md: these samples are too few";
}

TEST(GatesOfABaseline, VarianceOfSeedsIsNoiseOfTrainingsOnly) {
  EXPECT_LT(simulated({.runs = 5, .tilt = 0.1}).any, 10);
  EXPECT_GT(simulated({.tilt = 0.1}).any, 500) << "which is why trainings are not compared one against one";
}

TEST(GatesOfABaseline, AcceptsASmallCertainLoss) {
  PairedCounts counts(1, 1);
  counts.add({1, 0}, 6000);
  counts.add({0, 1}, 5000);
  counts.add({1, 1}, 189000);
  const auto failed = [&](double limit) {
    return any_failed(check_drop_gates({{.name = "a", .counts = counts, .limit = {.value = limit}}}, 0.99).verdicts);
  };
  EXPECT_FALSE(failed(0.02)) << "half a point is lost for sure, and two are not";
  EXPECT_TRUE(failed(0.005));
}

TEST(GatesOfABaseline, NoteReportsTheDetectableLoss) {
  PairedCounts counts(1, 1);
  counts.add({1, 0}, 25);
  counts.add({0, 1}, 25);
  counts.add({1, 1}, 950);
  const auto notes =
      check_drop_gates({{.name = "recall of a", .counts = counts, .limit = {.value = 0.02}}}, 0.99).notes;
  EXPECT_EQ(notes, std::vector<std::string>{
                       "recall of a: with 1,000 samples, of which two runs answer 5.0 % differently, a drop of 0.0281 "
                       "is detected with a probability of 95 %; a drop of 0.02 needs about 1,971 samples"});
}

}  // namespace
}  // namespace dptrain::evaluation
