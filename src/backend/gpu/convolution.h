#pragma once

// Convolutions of the GPU device: what cuDNN does on a GPU (backend/cuda) and a plain loop does on the emulator
// (backend/emu). Activations NHWC, filters KRSC (out_channels outermost, in_channels of one group innermost), all in
// `type`; bias [out_channels] in `type`; sums in float. Dense is a 1x1 convolution of an image of one point.

#include <cstdint>
#include <memory>
#include <string>

#include "backend/gpu/runtime.h"
#include "backend/parts.h"
#include "core/dtype.h"
#include "kernels/geometry.h"

namespace dptrain::backend::gpu {

struct ConvProblem : kernels::ConvWindow {
  std::int64_t rows = 1;  ///< images
  DType type = DType::kF32;
  bool bias = false, relu = false;  ///< of forward: y = relu(conv(x) + bias)
  int alignment = kFullAlignment;   ///< bytes; the address of every tensor of every call is a multiple

  auto operator<=>(const ConvProblem&) const = default;

  constexpr bool uneven_padding() const { return pad_top != pad_bottom || pad_left != pad_right; }
};

/// Which passes are wanted.
struct ConvPasses {
  bool forward = true, data = false, weights = false;
};

/// Made for one problem; used by one replica on its thread. Everything is queued on the stream. All results overwrite.
class Convolution {
 public:
  virtual ~Convolution() = default;
  virtual std::uint64_t workspace() const = 0;  ///< bytes, the largest of the passes
  /// "forward cudnn eng11 ...; data ...; weights ..."
  virtual std::string name() const = 0;
  virtual void forward(const void* x, const void* filter, const void* bias, void* y, void* workspace,
                       StreamHandle stream) = 0;
  virtual void backward_data(const void* dy, const void* filter, void* dx, void* workspace, StreamHandle stream) = 0;
  /// dfilter in `type`: cuDNN has no engines that sum bfloat16 into float.
  virtual void backward_weights(const void* x, const void* dy, void* dfilter, void* workspace, StreamHandle stream) = 0;
};

/// How engines are chosen.
struct ConvOptions {
  bool tf32 = true;           ///< float32 products may be rounded to TF32
  bool deterministic = true;  ///< only engines with the same bits every time
  std::uint64_t workspace_limit = std::uint64_t{1} << 30;
  bool autotune = false;  ///< time the first engines instead of believing the heuristics
};

/// Makes the convolutions of one device, several at once: any thread that has entered it. Throws Error{kDevice} naming
/// the problem where no engine can do it; where others are still looking for the engine, what was made throws at its
/// first call, which waits for them.
class ConvolutionMaker {
 public:
  virtual ~ConvolutionMaker() = default;
  virtual std::unique_ptr<Convolution> make(const ConvProblem& problem, const ConvPasses& passes) = 0;
};

}  // namespace dptrain::backend::gpu
