#include "runtime/sum_steps.h"

#include <algorithm>
#include <utility>

namespace dptrain::runtime {
namespace {

void add(StepSums& sum, const StepSums& more) {
  sum.loss += more.loss;
  sum.outputs.resize(std::max(sum.outputs.size(), more.outputs.size()), 0.0);
  for (std::size_t i = 0; i < more.outputs.size(); ++i) sum.outputs[i] += more.outputs[i];
  sum.samples += more.samples;
  sum.penalty += more.penalty;
  sum.left_out = sum.left_out || more.left_out;
  sum.wishes |= more.wishes;
}

StepSums merged(const std::vector<StepSums>& parts, const std::vector<int>& merges) {
  std::vector<StepSums> stack;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    stack.push_back(parts[i]);
    for (int merge = 0; merge < merges[i]; ++merge) {
      const StepSums right = std::move(stack.back());
      stack.pop_back();
      add(stack.back(), right);
    }
  }
  return stack.empty() ? StepSums{} : std::move(stack.front());
}

}  // namespace

StepSums sum_steps(const std::vector<StepSums>& parts, const std::vector<kernels::SumTree::Node>& nodes) {
  return merged(parts, kernels::SumTree::merges(nodes));
}

StepSums sum_steps(const std::vector<StepSums>& parts) {
  return merged(parts, kernels::SumTree(static_cast<int>(parts.size())).merges());
}

}  // namespace dptrain::runtime
