#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dptrain::train {

/// Keras's LearningRateScheduler (docs/reference/numerics.md).
struct LearningRateSchedulerSpec {
  std::string schedule{};  ///< an expression of `epoch` (from 0) and `lr`: "lr * 0.9 if epoch > 3 else lr"
};

/// The rate of an epoch that follows one with `rate`; nothing for an invalid schedule, NaN without a value. Pure.
std::optional<double> scheduled_rate(const LearningRateSchedulerSpec& spec, std::int64_t epoch, double rate);

}  // namespace dptrain::train
