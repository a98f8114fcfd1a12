#pragma once

// Convolutions of the GPU device: cuDNN on a GPU (backend/cuda), a plain loop on the emulator (backend/emu).
// Activations are NHWC, filters KRSC (out_channels outermost, in_channels of one group innermost), both in `type`. Bias
// is [out_channels] in `type`. Sums are float. Dense is a 1x1 convolution of a one-point image.

#include <cstdint>
#include <memory>
#include <string>

#include "backend/gpu/attention_engine.h"
#include "backend/gpu/runtime.h"
#include "backend/parts.h"
#include "core/dtype.h"
#include "kernels/geometry.h"

namespace dptrain::backend::gpu {

struct ConvProblem : kernels::ConvWindow {
  std::int64_t rows = 1;  ///< images
  DType type = DType::kF32;
  bool bias = false, relu = false;  ///< in forward: y = relu(conv(x) + bias)
  int alignment = kFullAlignment;   ///< in bytes, of every tensor of every call

  auto operator<=>(const ConvProblem&) const = default;

  constexpr bool uneven_padding() const { return pad_top != pad_bottom || pad_left != pad_right; }
  /// A product of matrices: images of one pixel.
  constexpr bool is_dense() const {
    return in_h * in_w == 1 && out_h * out_w == 1 && kernel_h * kernel_w == 1 && groups == 1;
  }
};

struct ConvPasses {
  bool forward = true, data = false, weights = false;
};

/// A convolution for one problem and replica. Calls are queued on the stream and overwrite results.
class Convolution {
 public:
  virtual ~Convolution() = default;
  virtual std::uint64_t workspace() const = 0;  ///< bytes, the largest of the passes
  /// "forward cudnn eng11 ...; data ...; weights ..."
  virtual std::string name() const = 0;
  virtual void forward(const void* x, const void* filter, const void* bias, void* y, void* workspace,
                       StreamHandle stream) = 0;
  virtual void backward_data(const void* dy, const void* filter, void* dx, void* workspace, StreamHandle stream) = 0;
  /// dfilter is in `type`: cuDNN has no engines that sum bfloat16 into float.
  virtual void backward_weights(const void* x, const void* dy, void* dfilter, void* workspace, StreamHandle stream) = 0;
};

struct ConvOptions {
  bool tf32 = true;           ///< float32 products may be rounded to TF32
  bool deterministic = true;  ///< only engines with bit-identical results in every run
  std::uint64_t workspace_limit = std::uint64_t{1} << 30;
  bool autotune = false;  ///< time the first engines instead of trusting the heuristics
};

/// Creates convolutions and attention for one device, on any thread that has called enter(). Throws Error{kDevice} if
/// no engine supports the problem; if another thread still searches for one, the first call of the convolution throws
/// instead.
class ConvolutionMaker {
 public:
  virtual ~ConvolutionMaker() = default;
  virtual std::unique_ptr<Convolution> make(const ConvProblem& problem, const ConvPasses& passes) = 0;
  /// Waits for the engine. Without one, the result contains the reason.
  virtual PlannedAttention make_attention(const AttentionProblem& problem) = 0;
};

}  // namespace dptrain::backend::gpu
