#pragma once

// The learning-rate range test (L. N. Smith, "Cyclical learning rates for training neural networks", 2017): some steps
// with a rate that grows from very small to very large, and what the loss of each says about a good one. RateCurve is
// the arithmetic, pure; test_rates() trains a session's weights, which are of no use afterwards. Main thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "session/session.h"

namespace dptrain::train {

/// Learning rates of the config: before its `lr_scaling`.
struct RateRange {
  double low = 1e-7, high = 10;
  std::int64_t steps = 100;  ///< at least 2
};

struct RatePoint {
  double rate = 0;
  double loss = 0;      ///< of the step's batch
  double smoothed = 0;  ///< m / (1 - b^t) with m = b m + (1 - b) loss, b = 0.9, t counted from 1
};

/// What a curve says; nothing where its loss does not fall.
struct RateAdvice {
  double steepest = 0;      ///< where the smoothed loss falls fastest over the logarithm of the rate
  double below_lowest = 0;  ///< a tenth of the rate with the lowest smoothed loss
  double rate = 0;          ///< the smaller of both, two digits
};

class RateCurve {
 public:
  explicit RateCurve(const RateRange& range) : range_(range) {}

  /// low (high / low)^(step / (steps - 1)), steps counted from 0.
  double rate(std::int64_t step) const;
  /// The loss of the next step. False: that was the last, because steps are over, the loss is not finite, or the
  /// smoothed one is four times the lowest.
  bool add(double loss);

  bool diverged() const { return diverged_; }
  const std::vector<RatePoint>& points() const { return points_; }  ///< finite ones
  std::optional<RateAdvice> advice() const;

 private:
  const RateRange range_;
  std::vector<RatePoint> points_;
  double mean_ = 0, weight_ = 1, lowest_ = 0;
  bool diverged_ = false;
};

/// `tick` hears how many steps are done, and stops the test with false. Data go on from epoch to epoch.
RateCurve test_rates(session::Session& session, const RateRange& range,
                     const std::function<bool(std::int64_t done)>& tick);

}  // namespace dptrain::train
