#pragma once

// Steps of a plan by name, and the items of its backward as text.

#include <stdexcept>
#include <string>
#include <vector>

#include "core/index.h"
#include "plan/plan.h"

namespace dptrain::test {

inline std::vector<std::string> step_names(const plan::Plan& plan) {
  std::vector<std::string> names;
  for (const plan::Step& step : plan.steps) names.push_back(step.name);
  return names;
}

inline const plan::Step& step_named(const plan::Plan& plan, const std::string& name) {
  for (const plan::Step& step : plan.steps)
    if (step.name == name) return step;
  throw std::runtime_error("no step " + name);
}

inline std::vector<std::string> items(const plan::Plan& plan) {
  std::vector<std::string> all;
  for (const plan::BackwardItem& item : plan.backward) {
    if (item.kind == plan::BackwardItem::Kind::kStep) all.push_back(plan.steps[at(item.step)].name);
    if (item.kind == plan::BackwardItem::Kind::kAccumulateTensor)
      all.push_back(plan.tensors[at(item.destination)].name + " +=");
    if (item.kind == plan::BackwardItem::Kind::kAccumulateParameter)
      all.push_back(plan.parameters[at(item.destination)].path + " +=");
    if (item.kind == plan::BackwardItem::Kind::kFetchTensor)
      all.push_back(plan.tensors[at(item.destination)].name + " <-");
    if (item.kind == plan::BackwardItem::Kind::kFetchParameter)
      all.push_back(plan.parameters[at(item.destination)].path + " <-");
  }
  return all;
}

}  // namespace dptrain::test
