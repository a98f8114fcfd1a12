#pragma once

// The learning-rate range test (L. N. Smith, "Cyclical learning rates for training neural networks", 2017): steps with
// a growing rate, whose losses suggest a good one. RateCurve is pure arithmetic; test_rates() trains a session's
// weights, which must be discarded. Main thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "session/session.h"

namespace dptrain::train {

/// Learning rates as in the config, before its `lr_scaling`.
struct RateRange {
  double low = 1e-7, high = 10;
  std::int64_t steps = 100;  ///< at least 2
};

struct RatePoint {
  double rate = 0;
  double loss = 0;      ///< loss of the step's batch
  double smoothed = 0;  ///< m / (1 - b^t) with m = b m + (1 - b) loss, b = 0.9, t counted from 1
};

/// The suggested rates; none if the loss does not fall.
struct RateAdvice {
  double steepest = 0;      ///< where the smoothed loss falls fastest over the logarithm of the rate
  double below_lowest = 0;  ///< a tenth of the rate with the lowest smoothed loss
  double rate = 0;          ///< the smaller of both, rounded to two digits
};

class RateCurve {
 public:
  explicit RateCurve(const RateRange& range) : range_(range) {}

  /// low (high / low)^(step / (steps - 1)), steps counted from 0.
  double rate(std::int64_t step) const;
  /// Adds a step's loss. False ends the test: last step, loss not finite, or smoothed loss four times the lowest.
  bool add(double loss);

  bool diverged() const { return diverged_; }
  const std::vector<RatePoint>& points() const { return points_; }  ///< with finite losses
  std::optional<RateAdvice> advice() const;

 private:
  const RateRange range_;
  std::vector<RatePoint> points_;
  double mean_ = 0, weight_ = 1, lowest_ = 0;
  bool diverged_ = false;
};

/// `tick` receives the number of completed steps; false stops the test. Data continue across epochs.
RateCurve test_rates(session::Session& session, const RateRange& range,
                     const std::function<bool(std::int64_t done)>& tick);

}  // namespace dptrain::train
