#pragma once

// ConvPass: one pass of a convolution on the CPU, which is forward, gradient of the input, or gradient of the weights.
// A Convolution (convolution.h) holds one object per pass and number of rows, chosen by conv2d_choice.h. To add an
// algorithm, add a class and a row to kConvAlgorithms (conv2d_choice.cpp). Used from the replica's thread only.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/cpu/piece_pass.h"
#include "kernels/geometry.h"

namespace dptrain::backend::cpu {

enum class ConvPassKind { kForward, kBackwardData, kBackwardWeights };

/// A convolution of `rows` images with its fused epilogue.
struct ConvShape : kernels::ConvWindow {
  std::int64_t rows = 0;
  bool bias = true;
  bool relu = false;  ///< forward: max(y, 0) after the bias
  /// A 2x2 max-pooling follows bias and ReLU. y and dy are then [rows, out_h / 2, out_w / 2, out_channels], and an odd
  /// last row or column is ignored.
  bool pool = false;
  /// Forward may run passes of an adjacent normalization (ConvTensors::prologue, epilogue).
  bool next_to_normalization = false;
  bool bfloat16 = false;  ///< as RuntimeOptions::bfloat16_products: a pass may round its factors
};

/// Tensors of one run. A pass ignores those that it does not use, and overwrites its outputs.
struct ConvTensors {
  const float* x = nullptr;        ///< forward, weights: read
  const float* weights = nullptr;  ///< forward, data: read
  const float* bias = nullptr;     ///< forward: read
  float* y = nullptr;              ///< forward: written
  const float* dy = nullptr;       ///< data, weights: read
  float* dx = nullptr;             ///< data: written
  float* dweights = nullptr;       ///< weights: written
  float* dbias = nullptr;          ///< weights: written, unless the shape has no bias
  /// With pool, one per y; kNoArgmax where ReLU blocked the window. Forward: written, unless null. Others: read.
  std::uint8_t* argmax = nullptr;
  /// Forward, if supports_fused_passes(): `prologue` writes x, `epilogue` reads y. Null: none.
  const kernels::cpu::PiecePass* prologue = nullptr;
  const kernels::cpu::PiecePass* epilogue = nullptr;
};

class ConvPass {
 public:
  virtual ~ConvPass() = default;
  /// For `summary --plan`: "dnnl brgconv:avx512_core nhwc".
  virtual std::string name() const = 0;
  /// Bytes of scratch for run().
  virtual std::size_t scratch() const = 0;
  virtual void run(const ConvTensors& tensors, void* scratch) = 0;
  /// Whether run() supports ConvTensors::prologue and epilogue.
  virtual bool supports_fused_passes() const { return false; }
  /// For a gradient of the weights: a pass that computes both gradients in less time, with the same bits as this pass
  /// and `data`. Null: there is none.
  virtual std::unique_ptr<ConvPass> fuse_with(const ConvPass& data) const {
    static_cast<void>(data);
    return nullptr;
  }
};

}  // namespace dptrain::backend::cpu
