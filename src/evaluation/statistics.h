#pragma once

// Tail probabilities, quantiles and intervals for gates. Every bound is one-sided. Pure functions; any thread.

#include <vector>

namespace dptrain::evaluation {

/// Probability that an N(0, 1) variable exceeds z.
double normal_tail(double z);
/// The z that an N(0, 1) variable is below with this probability, 0 < probability < 1.
double normal_quantile(double probability);
/// For Student's t with `freedom` > 0 degrees of freedom (incomplete beta function, DLMF 8.17.22, by Lentz's method).
double student_tail(double t, double freedom);
double student_quantile(double probability, double freedom);

/// First and second derivative of the logarithm of the gamma function, x > 0 (DLMF 5.5.2, 5.11.2).
double digamma(double x);
double trigamma(double x);
/// The x > 0 whose trigamma is `value`.
double trigamma_inverse(double value);

struct Interval {
  double low = 0, high = 1;
};

/// Wilson's score interval (E. B. Wilson, JASA 22, 1927) for `right` of `samples` > 0. The true proportion exceeds
/// `low` with this confidence, and is below `high` with the same.
Interval wilson(double right, double samples, double confidence);
/// The p-value of Wilson's score test that the true proportion is at least (`at_most`: at most) `limit`. wilson()
/// excludes exactly the limits with p < 1 - confidence.
double wilson_p(double right, double samples, double limit, bool at_most);

/// The level at which Holm's procedure (S. Holm, Scand. J. Statist. 6, 1979) tests each p-value. p <= level rejects a
/// hypothesis; the probability of rejecting any true one is at most `alpha`.
std::vector<double> holm_levels(const std::vector<double>& p, double alpha);

}  // namespace dptrain::evaluation
