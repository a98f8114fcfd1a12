#pragma once

// The values of a judgement that --assert and gates may name. Pure functions.

#include <string>
#include <utility>
#include <vector>

#include "cli/judgement.h"
#include "plan/plan.h"

namespace dptrain::cli {

/// Losses and metrics, and of outputs of classes the averages "precision", "recall" and "f1" over their classes.
/// `classes`: of all outputs of the model.
std::vector<std::string> judged_names(const plan::Plan& plan, const std::vector<Classes>& classes);
/// The same with their values. An average that is undefined is NaN; a metric of that name goes before it.
std::vector<std::pair<std::string, double>> judged_values(const Judgement& judgement);
/// Those names whose value is a share of all samples, each right or wrong.
std::vector<std::string> sample_shares(const plan::Plan& plan);

}  // namespace dptrain::cli
