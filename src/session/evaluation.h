#pragma once

// Batches into the replicas, sums out of them and into values: what training, evaluation and benchmarks share. Main
// thread.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/replica.h"

namespace dptrain::data {
class Loader;
}

namespace dptrain::session {

class Session;

/// Names of what StepSums hold: "loss" first, then of several outputs each one's loss, then the metrics.
std::vector<std::string> sum_names(const plan::Plan& plan);
/// Values by name from sums: means of losses, the whole one with the penalty, and metrics computed from their states.
std::vector<std::pair<std::string, double>> values_of(const plan::Plan& plan, const runtime::StepSums& sums);

/// Runs a whole loader in inference mode.
runtime::StepSums evaluate(Session& session, data::Loader& loader);
/// The same, asking after each batch; nothing where it was stopped, and the loader then stands within its epoch.
std::optional<runtime::StepSums> evaluate(Session& session, data::Loader& loader, const std::function<bool()>& go_on);

}  // namespace dptrain::session
