#include "evaluation/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dptrain::evaluation {
namespace {

/// Where a rising function reaches `value` between `low` and `high`, by bisection.
template <class Function>
double root(const Function& f, double value, double low, double high) {
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (f(middle) < value ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

/// The continued fraction of the incomplete beta function; converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto not_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), fraction = d;
  for (int m = 1; m < 500; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return fraction;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double normal_tail(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

double normal_quantile(double probability) {
  // the smaller tail keeps all its digits
  if (probability > 0.5) return -normal_quantile(1 - probability);
  return root([](double z) { return normal_tail(-z); }, probability, -40, 0);
}

double student_tail(double t, double freedom) {
  const double half = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
  return t >= 0 ? half : 1 - half;
}

double student_quantile(double probability, double freedom) {
  if (probability > 0.5) return -student_quantile(1 - probability, freedom);
  return root([&](double t) { return student_tail(-t, freedom); }, probability, -1e6, 0);
}

double digamma(double x) {
  double sum = 0;
  for (; x < 10; ++x) sum -= 1 / x;
  const double xx = 1 / (x * x);
  return sum + std::log(x) - 0.5 / x - xx * (1.0 / 12 - xx * (1.0 / 120 - xx * (1.0 / 252 - xx / 240)));
}

double trigamma(double x) {
  double sum = 0;
  for (; x < 10; ++x) sum += 1 / (x * x);
  const double xx = 1 / (x * x);
  return sum + 1 / x + xx / 2 + xx / x * (1.0 / 6 - xx * (1.0 / 30 - xx * (1.0 / 42 - xx / 30)));
}

double trigamma_inverse(double value) {
  return std::exp(root([](double log_x) { return -trigamma(std::exp(log_x)); }, -value, -20, 20));
}

Interval wilson(double right, double samples, double confidence) {
  const double z = normal_quantile(confidence), share = right / samples, zz = z * z / samples;
  const double middle = (share + zz / 2) / (1 + zz);
  const double half = z / (1 + zz) * std::sqrt(share * (1 - share) / samples + zz / (4 * samples));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

double wilson_p(double right, double samples, double limit, bool at_most) {
  const double off = (at_most ? 1 : -1) * (right / samples - limit);  // > 0: on the wrong side
  const double deviation = limit > 0 && limit < 1 ? std::sqrt(limit * (1 - limit) / samples) : 0;
  if (deviation > 0) return normal_tail(off / deviation);
  return off > 0 ? 0 : 1;
}

std::vector<double> holm_levels(const std::vector<double>& p, double alpha) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> levels(p.size());
  std::size_t left = p.size();
  bool stopped = false;
  for (const std::size_t i : order) {
    levels[i] = alpha / static_cast<double>(left);
    stopped = stopped || !(p[i] <= levels[i]);
    if (!stopped) --left;
  }
  // later hypotheses are not rejected either: their p is no smaller and their level is the same
  return levels;
}

}  // namespace dptrain::evaluation
