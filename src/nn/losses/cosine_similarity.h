#pragma once

#include <cstdint>

namespace dptrain::nn {

/// -sum y p / (|y| |p|) over the last axis, norms of at least 1e-7: -1 where both point the same way (Keras 3,
/// CosineSimilarity).
struct CosineSimilaritySpec {
  std::int64_t axis = -1;  ///< the last
};

}  // namespace dptrain::nn
