#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dptrain::train {

/// Keras's LearningRateScheduler (docs/numerics.md, section 7).
struct LearningRateSchedulerSpec {
  std::string schedule{};  ///< of `epoch`, counted from 0, and `lr`: "lr * 0.9 if epoch > 3 else lr"
};

/// The rate of an epoch whose predecessor had `rate`; nothing where the schedule is no expression, NaN where it has no
/// value there. Pure.
std::optional<double> scheduled_rate(const LearningRateSchedulerSpec& spec, std::int64_t epoch, double rate);

}  // namespace dptrain::train
