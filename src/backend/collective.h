#pragma once

// What an op may ask of the other replicas in the middle of a step (synchronised batch normalisation): a gather in rank
// order. Implemented by reduce/. Every replica calls with the same sizes in the same order; blocks (CPU) or queues
// (CUDA).

#include <cstdint>

#include "backend/stream.h"

namespace dptrain::backend {

class Collective {
 public:
  virtual ~Collective() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// all[r * bytes .. ) = what rank r gave, for every rank, on every rank.
  virtual void all_gather(const void* mine, std::int64_t bytes, void* all, Stream& stream) = 0;
};

}  // namespace dptrain::backend
