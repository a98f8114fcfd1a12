#pragma once

// Attention that a library computes instead of kernels/cuda/attention.h: cuDNN on a GPU (backend/cuda), plain loops on
// the emulator (backend/emu). In 16 bits, without dropout, and without masks except the causal one.

#include <cstdint>
#include <memory>
#include <string>

#include "backend/gpu/runtime.h"
#include "core/dtype.h"
#include "kernels/geometry.h"

namespace dptrain::backend::gpu {

struct AttentionProblem {
  kernels::AttentionShape shape;
  std::int64_t rows = 1;                                  ///< samples of every call
  std::int64_t q_stride = 0, k_stride = 0, v_stride = 0;  ///< elements from position to position, also of gradients
  DType type = DType::kBf16;
  bool backward = false;
};

/// Device memory of a call, 16-byte aligned. Forward uses the first line and the workspace.
struct AttentionMemory {
  void *q, *k, *v, *y;
  float* stats;  ///< [rows, heads, queries], written by forward if problem.backward: log of the sum of exponentials
  void *dy, *dq, *dk, *dv;
  float* delta;  ///< scratch of backward, like stats
  void* workspace;
};

/// Calls are queued on the stream and overwrite results. y and dy are [rows, queries, heads * value_dim].
class AttentionEngine {
 public:
  virtual ~AttentionEngine() = default;
  virtual std::uint64_t workspace() const = 0;  ///< bytes, the larger of the passes
  virtual std::string name() const = 0;
  virtual void forward(const AttentionMemory& memory, StreamHandle stream) = 0;
  virtual void backward(const AttentionMemory& memory, StreamHandle stream) = 0;
};

struct PlannedAttention {
  std::unique_ptr<AttentionEngine> engine;  ///< null: no engine supports the problem
  std::string reason;                       ///< of that
};

}  // namespace dptrain::backend::gpu
