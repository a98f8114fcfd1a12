#pragma once

// Tails, quantiles and bounds that gates judge by. Every bound is one-sided. Pure functions; any thread.

#include <cstdint>
#include <vector>

namespace dptrain::evaluation {

/// The probability that a standard normal number is above z.
double normal_tail(double z);
/// The z below which a standard normal number lies with this probability, 0 < probability < 1.
double normal_quantile(double probability);
/// The same of Student's t with so many degrees of freedom, > 0 (the incomplete beta function, DLMF 8.17.22, by Lentz's
/// method).
double student_tail(double t, double freedom);
double student_quantile(double probability, double freedom);

/// The first and second derivative of the logarithm of the gamma function, x > 0 (DLMF 5.5.2, 5.11.2).
double digamma(double x);
double trigamma(double x);
/// The x whose trigamma this is, > 0.
double trigamma_inverse(double value);

struct Interval {
  double low = 0, high = 1;
};

/// Wilson's score interval (E. B. Wilson, JASA 22, 1927) of `right` among `samples` > 0. The true share lies above
/// `low` with this confidence, and below `high` with the same.
Interval wilson(double right, double samples, double confidence);
/// The p-value of Wilson's score test that the true share is at least (or, `at_most`, at most) `limit`: wilson() leaves
/// out exactly the limits with p < 1 - confidence.
double wilson_p(double right, double samples, double limit, bool at_most);

/// At which level Holm's procedure (S. Holm, Scand. J. Statist. 6, 1979) tests each hypothesis with these p-values:
/// p <= level rejects it, and one or more that are true are rejected with a probability of at most `alpha`.
std::vector<double> holm_levels(const std::vector<double>& p, double alpha);

}  // namespace dptrain::evaluation
