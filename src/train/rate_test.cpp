#include "train/rate_test.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "core/format.h"
#include "core/index.h"
#include "runtime/batch_queue.h"
#include "session/session.h"

namespace dptrain::train {
namespace {

constexpr double kSmoothing = 0.9, kDivergenceFactor = 4, kTenth = 10;
constexpr std::size_t kFirst = 5;  ///< first steps, whose mean covers too few losses

/// The double nearest to the value's first two digits, so that the shortest text has no others.
double two_digits(double value) { return std::strtod(fmt::format("{:.1e}", value).c_str(), nullptr); }

/// Slope of the smoothed loss over the logarithm of the rate: least squares over a window around point `i`.
double slope_at(const std::vector<RatePoint>& points, std::size_t i, std::size_t reach) {
  const std::size_t begin = i - std::min(i, reach), end = std::min(points.size(), i + reach + 1);
  const auto count = static_cast<double>(end - begin);
  double x = 0, y = 0, xx = 0, xy = 0;
  for (std::size_t k = begin; k < end; ++k) {
    const double at = std::log(points[k].rate);
    x += at / count;
    y += points[k].smoothed / count;
  }
  for (std::size_t k = begin; k < end; ++k) {
    const double apart = std::log(points[k].rate) - x;
    xx += apart * apart;
    xy += apart * (points[k].smoothed - y);
  }
  return xx > 0 ? xy / xx : 0;
}

}  // namespace

double RateCurve::rate(std::int64_t step) const {
  const double share = static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(1, range_.steps - 1));
  return range_.low * std::pow(range_.high / range_.low, share);
}

bool RateCurve::add(double loss) {
  const auto step = static_cast<std::int64_t>(points_.size());
  if (!std::isfinite(loss)) return diverged_ = true, false;
  mean_ = kSmoothing * mean_ + (1 - kSmoothing) * loss;
  weight_ *= kSmoothing;
  const double smoothed = mean_ / (1 - weight_);
  points_.push_back({rate(step), loss, smoothed});
  lowest_ = step == 0 ? smoothed : std::min(lowest_, smoothed);
  diverged_ = points_.size() > kFirst && lowest_ > 0 && smoothed > kDivergenceFactor * lowest_;
  return !diverged_ && step + 1 < range_.steps;
}

std::optional<RateAdvice> RateCurve::advice() const {
  if (points_.size() < 2 * kFirst) return std::nullopt;
  const auto by_loss = [](const RatePoint& a, const RatePoint& b) { return a.smoothed < b.smoothed; };
  const auto lowest = std::min_element(points_.begin() + kFirst, points_.end(), by_loss);
  const auto end = static_cast<std::size_t>(lowest - points_.begin());
  const std::size_t reach = std::max<std::size_t>(2, points_.size() / 20);
  std::size_t steepest = 0;
  double slope = 0;
  for (std::size_t i = kFirst; i < end; ++i)
    if (const double here = slope_at(points_, i, reach); here < slope) {
      slope = here;
      steepest = i;
    }
  if (slope >= 0) return std::nullopt;
  RateAdvice advice{.steepest = points_[steepest].rate, .below_lowest = lowest->rate / kTenth};
  advice.rate = two_digits(std::min(advice.steepest, advice.below_lowest));
  return advice;
}

RateCurve test_rates(session::Session& session, const RateRange& range,
                     const std::function<bool(std::int64_t done)>& tick) {
  RateCurve curve(range);
  const double factor = experiment::rate_factor(session.experiment().config.train, session.global_batch());
  data::Loader& loader = session.train_loader();
  loader.seek(0, 0);
  runtime::BatchQueue queue(session.replicas());
  std::int64_t done = 0;
  bool continues = true;
  const auto collect = [&] {
    const runtime::StepSums sums = queue.collect().sums;
    if (continues) continues = curve.add(sums.loss / static_cast<double>(sums.samples) + sums.penalty);
    continues = tick(++done) && continues;
  };
  for (std::int64_t step = 0; step < range.steps && continues; ++step) {
    data::Batch batch = session::next_batch(loader);
    const runtime::StepInputs inputs{step, factor * curve.rate(step), batch.rows()};
    queue.step(std::make_shared<const data::Batch>(std::move(batch)), inputs);
    while (queue.is_due()) collect();
  }
  while (!queue.empty()) collect();
  return curve;
}

}  // namespace dptrain::train
