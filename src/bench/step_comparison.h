#pragma once

// Runs the same training in two sessions, step by step, for verify and the device check. Main thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "session/session.h"

namespace dptrain::bench {

/// Plain SGD with the config's first rate, since adaptive optimizers amplify rounding of vanishing gradients and
/// clipping hides it. Full float32 products, whose rounding would hide differences. Convolutions by rule.
experiment::Experiment comparable(experiment::Experiment experiment, std::optional<std::int64_t> accumulate);

struct ComparedSessionOptions {
  session::DeviceRequest devices;
  distributed::Processes* processes = nullptr;  ///< the processes of the session
  session::DataMode data = session::DataMode::kSynthetic;
  std::optional<std::int64_t> batch{};  ///< replaces the config's
  bool device_datasets = false;         ///< batches are made on the device if it supports that
  double first_step_seconds = 600;      ///< as SessionOptions::first_step_seconds
};

/// A separate session with synchronized batch normalization.
class ComparedSession {
 public:
  ComparedSession(const experiment::Experiment& experiment, const ComparedSessionOptions& options);

  runtime::StepSums step(const data::Batch& batch, std::int64_t number);
  /// A step from these weights. Repeats a step that mixed_float16 skips because the loss scale is too large.
  runtime::StepSums step_from(const graph::Model& weights, const data::Batch& batch, std::int64_t number);
  runtime::StepSums evaluate(const data::Batch& batch);
  /// Gradients of the last step, per weight of the model, with Keras's axes; empty for weights that are not trained.
  std::vector<std::vector<float>> gradients();
  const graph::Model& pulled();

  session::Session session;

 private:
  std::int64_t skipped();
};

/// Maps a layer to |a - b| / |b| over all its arrays; infinite instead of NaN (core/floats.h).
using Differences = std::map<std::string, double>;
Differences gradient_differences(ComparedSession& tested, ComparedSession& reference);
Differences weight_differences(const graph::Model& a, const graph::Model& b);
double loss_difference(const runtime::StepSums& a, const runtime::StepSums& b);

}  // namespace dptrain::bench
