#pragma once

// Kinds of devices, and the options of the config's section `runtime` for devices, ops and replicas. Plain values.

#include <cstdint>
#include <memory>

#include "core/dtype.h"

namespace dptrain::backend {

enum class DeviceKind { kCpu, kCuda, kEmu };

class ConvChoices;

/// How convolutions are chosen (`runtime.conv`, --conv): by rules and timings, or the same without Winograd.
enum class ConvChoice { kAuto, kDirect };

/// Options of the config's `runtime` section for ops.
struct RuntimeOptions {
  ConvChoice conv = ConvChoice::kAuto;
  DType compute = DType::kF32;     ///< the activations' type (train.dtype_policy); kF32 in a CpuDevice's own options
  bool bfloat16_products = false;  ///< CPUs, from `compute`: factors rounded to bfloat16, all else float32
  bool deterministic = true;
  bool tf32 = true;                                        ///< GPUs: float32 products may be rounded to TF32.
  std::uint64_t workspace_limit = std::uint64_t{1} << 30;  ///< GPUs: bytes of one op's workspace of cuDNN.
  bool autotune = false;                 ///< GPUs: time convolution engines instead of using the heuristics.
  bool bn_unbiased_running_var = false;  ///< moving variance from N / (N - 1), as in tf-keras and cuDNN.
  bool cudnn_attention = false;          ///< GPUs: cuDNN computes attention in 16 bits where possible
  /// CPUs: timings, and the record of choices (backend/conv_choices.h). Null: choose by rule, without a record.
  std::shared_ptr<ConvChoices> conv_choices{};
  bool any_threads = false;  ///< CPUs: same bits with any number of threads; some gradients then use one thread
};

/// Whether whole steps are recorded and replayed as one launch (CUDA graph), `runtime.cuda_graphs`. kAuto: if the
/// device supports it and there is one replica, or a sink that records. kOn: an error if impossible.
enum class Graphs { kAuto, kOn, kOff };

}  // namespace dptrain::backend
