#include "runtime/shard_sums.h"

#include <algorithm>
#include <utility>

#include "core/index.h"
#include "kernels/sum_tree.h"

namespace dptrain::runtime {
namespace {

void add(StepSums& sum, const StepSums& more) {
  sum.loss += more.loss;
  sum.outputs.resize(std::max(sum.outputs.size(), more.outputs.size()), 0.0);
  for (std::size_t i = 0; i < more.outputs.size(); ++i) sum.outputs[i] += more.outputs[i];
  sum.samples += more.samples;
  sum.penalty += more.penalty;
  sum.update_skipped = sum.update_skipped || more.update_skipped;
  sum.control_requests |= more.control_requests;
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

std::size_t size_of_floats(std::int64_t floats) { return static_cast<std::size_t>(floats) * sizeof(float); }

}  // namespace

StepSums sum_steps(const std::vector<StepSums>& parts, const std::vector<kernels::SumTree::Node>& nodes) {
  return merged(parts, kernels::SumTree::merges(nodes));
}

StepSums sum_steps(const std::vector<StepSums>& parts) {
  return merged(parts, kernels::SumTree(static_cast<int>(parts.size())).merges());
}

GradientTree::GradientTree(backend::Device& device, backend::Stream& stream, int shards, const float* written,
                           float* sum, std::int64_t floats)
    : device_(device), stream_(stream), merges_(kernels::SumTree(shards).merges()), written_(written) {
  for (int level = 0; level + 1 < merges_.back(); ++level) {
    memory_.push_back(device.allocate(size_of_floats(std::max<std::int64_t>(floats, 1))));
    levels_.push_back(memory_.back()->as<float>());
  }
  levels_.push_back(sum);
}

void GradientTree::add(int shard, std::int64_t begin, std::int64_t end) {
  if (end <= begin) return;
  const float* right = written_;
  const int merges = merges_[at(shard)];
  for (int level = 0; level < merges; ++level) {
    device_.accumulate(levels_[at(level)] + begin, right + begin, DType::kF32, end - begin, stream_);
    right = levels_[at(level)];
  }
  if (merges < static_cast<int>(levels_.size()))
    device_.copy(levels_[at(merges)] + begin, right + begin, size_of_floats(end - begin), stream_);
}

std::size_t GradientTree::bytes() const {
  std::size_t sum = 0;
  for (const auto& level : memory_) sum += level->bytes();
  return sum;
}

}  // namespace dptrain::runtime
