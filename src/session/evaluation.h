#pragma once

// Evaluation of a data set, and named values from sums. Used by training, evaluation and benchmarks. Main thread.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/replica.h"

namespace dptrain::data {
class Batch;
class Loader;
}  // namespace dptrain::data

namespace dptrain::session {

class Session;

/// Names of values_of(): "loss", the loss of each output if there are several, then the metrics.
std::vector<std::string> sum_names(const plan::Plan& plan);
/// Means of losses ("loss" includes the penalty), and metrics computed from their states, by name.
std::vector<std::pair<std::string, double>> values_of(const plan::Plan& plan, const runtime::StepSums& sums);

/// The batch of the next step, across epochs.
data::Batch next_batch(data::Loader& loader);

/// Runs a whole loader in inference mode.
runtime::StepSums evaluate(Session& session, data::Loader& loader);
/// Calls `should_continue` before each batch. If it returns false, stops in the middle of the loader's epoch and
/// returns nothing.
std::optional<runtime::StepSums> evaluate(Session& session, data::Loader& loader,
                                          const std::function<bool()>& should_continue);

}  // namespace dptrain::session
