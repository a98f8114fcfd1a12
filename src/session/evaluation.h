#pragma once

// Batches into the replicas, sums out of them and into means: what training, evaluation and benchmarks share. Main
// thread.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/loader.h"
#include "plan/plan.h"
#include "replica/replica_set.h"

namespace dptrain::session {

class Session;

/// Names of what StepSums hold: "loss" first, then of several outputs each one's loss, then the metrics.
std::vector<std::string> sum_names(const plan::Plan& plan);
/// Means by name from sums; the loss includes the penalty.
std::vector<std::pair<std::string, double>> means(const plan::Plan& plan, const replica::StepSums& sums);

/// Runs a whole loader in inference mode.
replica::StepSums evaluate(Session& session, data::Loader& loader);
/// The same, asking after each batch; nothing where it was stopped, and the loader then stands within its epoch.
std::optional<replica::StepSums> evaluate(Session& session, data::Loader& loader, const std::function<bool()>& go_on);

}  // namespace dptrain::session
