#pragma once

// A pass of a convolution or of attention with its chosen engine. Belongs to one replica and its thread.

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/cudnn_engines.h"

namespace dptrain::backend::cuda {

/// A cudnnHandle_t on the thread's current device.
class CudnnHandle {
 public:
  CudnnHandle();
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  /// Binds the handle to this stream.
  cudnnHandle_t on(gpu::StreamHandle stream);

 private:
  cudnnHandle_t raw_ = nullptr;
  gpu::StreamHandle stream_ = nullptr;  ///< avoids repeated calls of set_stream
};

/// A tensor of the graph, by number, and its address; on the host for tensors by value, which must remain there.
struct TensorAddress {
  std::int64_t tensor = 0;
  const void* address = nullptr;

  bool operator==(const TensorAddress&) const = default;
};

/// Addresses of the tensors of a convolution; bias may be null if the plan has none.
struct ConvMemory {
  const void* x = nullptr;
  const void* filter = nullptr;
  const void* bias = nullptr;
  const void* y = nullptr;
  void* workspace = nullptr;
};

/// Whether the status is CUDNN_STATUS_BAD_PARAM or one of its subtypes.
constexpr bool is_bad_parameter(cudnnStatus_t status) {
  return status >= CUDNN_STATUS_BAD_PARAM && status < CUDNN_STATUS_NOT_SUPPORTED;
}

/// Executes a plan for the first time. Plans are made from the properties of a device, as cuDNN's header requires. If
/// cuDNN refuses to execute one, `remake` makes it from a handle, and it is executed again.
template <class Execute, class Remake>
cudnnStatus_t first_execution(const Execute& execute, const Remake& remake) {
  const cudnnStatus_t status = execute();
  if (!is_bad_parameter(status)) return status;
  remake();
  return execute();
}

class CudnnPass {
 public:
  explicit CudnnPass(std::shared_ptr<const EnginePlan> plan) : plan_(std::move(plan)) {}

  std::uint64_t workspace() const noexcept { return plan_->workspace; }
  const FusedOps& fused() const noexcept { return plan_->graph->fused; }
  const std::shared_ptr<const EnginePlan>& plan() const noexcept { return plan_; }
  /// "eng57 k13=2 (A0, 12.0 MiB)"
  std::string name() const;

  /// Queues the pass. Throws Error{kDevice}; Error{kInternal} if it was planned without a device.
  void run(CudnnHandle& handle, std::span<const TensorAddress> tensors, void* workspace, gpu::StreamHandle stream);
  void run(CudnnHandle& handle, const ConvMemory& memory, gpu::StreamHandle stream);

 private:
  void pack(std::span<const TensorAddress> tensors, void* workspace);
  void remake(cudnnHandle_t handle);

  std::shared_ptr<const EnginePlan> plan_;  ///< shared by equal problems
  CudnnDescriptor remade_;                  ///< the plan made from a handle, if plan_ did not execute
  bool executed_ = false;
  std::vector<TensorAddress> packed_tensors_;
  void* packed_workspace_ = nullptr;
  CudnnDescriptor pack_;  ///< cuDNN's variant pack of these pointers; remade when they change
};

}  // namespace dptrain::backend::cuda
