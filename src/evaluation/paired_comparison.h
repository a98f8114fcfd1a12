#pragma once

// Paired comparison of the runs of a baseline and of a candidate: how many of the same samples each answers correctly,
// and whether the candidate is worse than chance explains. Plain values; one thread each.
//
// Suppose that both sides are the same training with other seeds, and r of all R runs answer a sample correctly. Each
// choice of r runs is then equally likely, so the number among the candidate's runs is hypergeometric. The test uses
// the exact distribution of its sum over samples. With one run on each side this is McNemar's exact test (Psychometrika
// 12, 1947): a coin for every sample that only one run answers correctly.
//
// This treats samples as independent, which is right for two models but not for two trainings. A seed moves a class as
// a whole, so correct answers vary many times as much. With three runs or more, two of them on one side, the factor of
// variance is estimated: for all samples from their runs; for a class from its own and the other classes' runs. The
// more alike the classes, the more the others count (moderated variance: G. K. Smyth, Statistical Applications in
// Genetics and Molecular Biology 3, 2004, with half of the prior degrees of freedom). The factor is at least 1, and
// quantiles are Student's with the degrees of freedom of the estimate.

#include <cstdint>
#include <vector>

namespace dptrain::evaluation {

/// Counts for one group of samples: all of them, or those of a class.
class PairedCounts {
 public:
  PairedCounts(int baseline_runs, int runs)
      : baseline_right_(static_cast<std::size_t>(baseline_runs)),
        right_(static_cast<std::size_t>(runs)),
        samples_by_correct_runs_(static_cast<std::size_t>(baseline_runs + runs) + 1) {}

  /// Adds a sample, or several equal ones. `right`: whether each run is right, the baseline's first.
  void add(const std::vector<char>& right, std::int64_t samples = 1);

  /// Adds another group of samples of the same runs.
  void add(const PairedCounts& other);

  int baseline_runs() const { return static_cast<int>(baseline_right_.size()); }
  int runs() const { return static_cast<int>(right_.size()); }
  std::int64_t samples() const { return samples_; }
  /// Mean proportion of correct answers, of the baseline's and of the candidate's runs.
  double baseline_share() const;
  double share() const;
  /// Proportion of samples on which two runs differ, averaged over pairs of runs.
  double disagreement() const;

  // Sums over the samples, for paired.cpp.
  const std::vector<std::int64_t>& baseline_right() const { return baseline_right_; }
  const std::vector<std::int64_t>& right() const { return right_; }
  const std::vector<std::int64_t>& samples_by_correct_runs() const { return samples_by_correct_runs_; }

 private:
  std::vector<std::int64_t> baseline_right_, right_;   // by run
  std::vector<std::int64_t> samples_by_correct_runs_;  // [r]: samples that r of all runs answer correctly
  std::int64_t samples_ = 0;
};

/// How much more the correct answers of a side's runs vary than independent samples would.
struct Dispersion {
  double factor = 1;   ///< variance ratio, at least 1
  double freedom = 0;  ///< degrees of freedom of the estimate; 0: no estimate, samples count as independent
};
/// From one group alone; requires three runs or more.
Dispersion dispersion(const PairedCounts& counts);
/// For each class, in order, from its own and the other classes' runs. All have the same runs, three or more.
std::vector<Dispersion> dispersions(const std::vector<PairedCounts>& classes);

/// How much lower the candidate's proportion of correct answers is.
struct Drop {
  double found = 0;      ///< negative: it is higher
  double deviation = 0;  ///< standard deviation of `found` by chance alone
  double p = 1;          ///< probability of a drop of at least `found` by chance alone
  double freedom = 0;    ///< degrees of freedom of the quantiles; 0: normal

  /// Bounds of the true drop; each is wrong with probability `level`.
  double low(double level) const { return found - quantile(level) * deviation; }
  double high(double level) const { return found + quantile(level) * deviation; }
  /// The true drop that is detected at this level with probability `power`.
  double detectable(double level, double power) const;

 private:
  double quantile(double level) const;
};
/// Requires counts of at least one sample.
Drop drop_of(const PairedCounts& counts, const Dispersion& dispersion);

}  // namespace dptrain::evaluation
