#pragma once

// What runs of two sides, a baseline and a candidate, got right of the same samples, and whether the candidate got less
// right than chance explains. Plain values; a thread each.
//
// Were both sides the same training with other seeds, then, of a sample that r of all R runs got right, each choice of
// r runs would be as likely: the number among the candidate's T runs is hypergeometric. The sum over samples has the
// exact distribution of that sum. With one run on each side this is McNemar's test (Psychometrika 12, 1947) in its
// exact form: a coin for every sample that one of both got right.
//
// That takes samples one by one: it is the right question of two models. Of two trainings it is not, for a seed moves a
// class as a whole: right answers of runs vary many times as much as those coins say. With three runs or more, two of
// them on one side, the factor of variance is estimated: of all samples from their own runs; of a class from its own
// and the other classes', the more alike they are (the moderated variance of G. K. Smyth, Statistical Applications in
// Genetics and Molecular Biology 3, 2004; half of his prior degrees of freedom are trusted). It counts 1 at least, and
// the quantiles are Student's for how well it is known.

#include <cstdint>
#include <vector>

namespace dptrain::evaluation {

/// Of one group of samples: all, or those of a class.
class PairedCounts {
 public:
  PairedCounts(int baseline_runs, int runs)
      : baseline_right_(static_cast<std::size_t>(baseline_runs)),
        right_(static_cast<std::size_t>(runs)),
        together_(static_cast<std::size_t>(baseline_runs + runs) + 1) {}

  /// A sample, or several that are alike: which runs got it right, the baseline's first.
  void add(const std::vector<char>& right, std::int64_t samples = 1);

  /// All samples of another group of the same runs.
  void add(const PairedCounts& other);

  int baseline_runs() const { return static_cast<int>(baseline_right_.size()); }
  int runs() const { return static_cast<int>(right_.size()); }
  std::int64_t samples() const { return samples_; }
  /// The mean share of right answers of a side's runs.
  double baseline_share() const;
  double share() const;
  /// How often two runs differ about a sample, on average over samples and pairs of runs.
  double disagreement() const;

  // Sums over the samples, for paired.cpp.
  const std::vector<std::int64_t>& baseline_right() const { return baseline_right_; }
  const std::vector<std::int64_t>& right() const { return right_; }
  const std::vector<std::int64_t>& together() const { return together_; }

 private:
  std::vector<std::int64_t> baseline_right_, right_;  // of each run
  std::vector<std::int64_t> together_;                // [r]: samples that r of all runs got right
  std::int64_t samples_ = 0;
};

/// How much more right answers of runs of one side vary than samples one by one would make them.
struct Dispersion {
  double factor = 1;   ///< of the variance; at least 1
  double freedom = 0;  ///< degrees of freedom of the estimate; 0: none was made, samples are taken one by one
};
/// Of a group by itself, with three runs or more.
Dispersion dispersion(const PairedCounts& counts);
/// Of classes, in their order; all have the same runs, three or more.
std::vector<Dispersion> dispersions(const std::vector<PairedCounts>& classes);

/// Of the share of right answers, how much the candidate has less.
struct Drop {
  double found = 0;      ///< negative: it has more
  double deviation = 0;  ///< standard deviation of `found` where chance alone makes it
  double p = 1;          ///< the probability of this drop or a larger one by chance alone
  double freedom = 0;    ///< of the quantiles that go with it; 0: normal

  /// The smallest and largest true drops that this agrees with, each left out wrongly with probability `level`.
  double low(double level) const { return found - quantile(level) * deviation; }
  double high(double level) const { return found + quantile(level) * deviation; }
  /// The true drop that would be found at this level with probability `power`.
  double seen(double level, double power) const;

 private:
  double quantile(double level) const;
};
/// Of counts with samples.
Drop drop_of(const PairedCounts& counts, const Dispersion& dispersion);

}  // namespace dptrain::evaluation
