#pragma once

// The same training on two sides, step by step: what verify and the check of devices compare. Main thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "session/session.h"

namespace dptrain::bench {

/// Plain SGD with the config's first rate, because adaptive optimizers amplify rounding where gradients vanish and
/// clipping hides it; products in full float32, whose rounding would hide what is compared; convolutions by rule.
experiment::Experiment comparable(experiment::Experiment experiment, std::optional<std::int64_t> accumulate);

struct SideOptions {
  session::DeviceRequest devices;
  distributed::Processes* processes = nullptr;  ///< that have the side together
  session::DataMode data = session::DataMode::kSynthetic;
  std::optional<std::int64_t> batch{};  ///< instead of the config's
  bool feeds = false;                   ///< batches are made on the device where it can
  double first_step_seconds = 600;      ///< as SessionOptions::first_step_seconds
};

/// A session of its own, with synchronised batch normalisation.
class Side {
 public:
  Side(const experiment::Experiment& experiment, const SideOptions& options);

  runtime::StepSums step(const data::Batch& batch, std::int64_t number);
  /// A step from these weights. In mixed_float16 the loss scale may still be too large and the step be left out: again
  /// then.
  runtime::StepSums step_from(const graph::Model& weights, const data::Batch& batch, std::int64_t number);
  runtime::StepSums evaluate(const data::Batch& batch);
  /// Of the last step, per weight of the model, Keras's axes; empty for what is not trained.
  std::vector<std::vector<float>> gradients();
  const graph::Model& pulled();

  session::Session session;

 private:
  std::int64_t skipped();
};

/// The batch of a step, one epoch after another.
data::Batch next_batch(data::Loader& loader);

/// Layer to |a - b| / |b| over all its arrays. No difference is NaN (core/floats.h).
using Differences = std::map<std::string, double>;
Differences gradient_differences(Side& tested, Side& reference);
Differences weight_differences(const graph::Model& a, const graph::Model& b);
double loss_difference(const runtime::StepSums& a, const runtime::StepSums& b);

}  // namespace dptrain::bench
