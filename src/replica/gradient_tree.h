#pragma once

// GradientTree: the sum of the gradients of a replica's shards (parallel.virtual_shards), added in the fixed order of
// kernels/sum_tree.h. A binary counter: a sum waits on its level until its neighbour of the same size is there, so of
// 2^n shards there are n arenas besides the one that backward writes to. Owned by a Replica, used on its thread; queues
// on the stream and waits for nothing.

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/device.h"

namespace dptrain::replica {

class GradientTree {
 public:
  /// Of a power of two of shards, at least 2. `written`: where backward writes; `sum`: where the sum comes to lie. Both
  /// of so many floats.
  GradientTree(backend::Device& device, backend::Stream& stream, int shards, const float* written, float* sum,
               std::int64_t floats);

  /// Takes floats [begin, end) of what backward has written for a shard; each shard's in order. When the last shard's
  /// are in, the sum is.
  void add(int shard, std::int64_t begin, std::int64_t end);
  std::size_t bytes() const;

 private:
  backend::Device& device_;
  backend::Stream& stream_;
  const std::vector<int> merges_;  ///< per shard
  const float* const written_;
  std::vector<std::unique_ptr<backend::Buffer>> memory_;  ///< of all levels but the last
  std::vector<float*> levels_;                            ///< a level's sum is of twice as many shards as the one below
};

}  // namespace dptrain::replica
