#pragma once

// Sums over shards, replicas and processes in the fixed order of kernels/sum_tree.h: the bits of the result do not
// depend on their distribution. sum_steps() adds the numbers of a step (pure), GradientTree the gradients.

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/device.h"
#include "kernels/sum_tree.h"
#include "runtime/replica.h"

namespace dptrain::runtime {

/// Adds one part per node, in order. The nodes must tile a node of the tree.
StepSums sum_steps(const std::vector<StepSums>& parts, const std::vector<kernels::SumTree::Node>& nodes);
/// Adds one part per leaf of a tree.
StepSums sum_steps(const std::vector<StepSums>& parts);

/// Sums the gradients of a replica's shards (parallel.virtual_shards) like a binary counter: a partial sum stays on its
/// level until the next one of the same size is complete. So 2^n shards need n arenas in addition to the one that
/// backward writes to. Owned by a Replica, used on its thread. Queues work on the stream without waiting.
class GradientTree {
 public:
  /// `shards`: a power of two, at least 2. `written`: where backward writes; `sum`: destination of the sum. Both have
  /// `floats` elements.
  GradientTree(backend::Device& device, backend::Stream& stream, int shards, const float* written, float* sum,
               std::int64_t floats);

  /// Adds elements [begin, end) of what backward has written for a shard. Shards are added in order; the sum is
  /// complete after the last one.
  void add(int shard, std::int64_t begin, std::int64_t end);
  std::size_t bytes() const;

 private:
  backend::Device& device_;
  backend::Stream& stream_;
  const std::vector<int> merges_;  ///< per shard: number of levels to merge
  const float* const written_;
  std::vector<std::unique_ptr<backend::Buffer>> memory_;  ///< one per level except the last
  std::vector<float*> levels_;                            ///< level k holds sums of 2^k shards; the last is `sum`
};

}  // namespace dptrain::runtime
