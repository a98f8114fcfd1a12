#pragma once

// One pass of a convolution on the CPU: forward, gradient of the input, or gradient of the weights. A convolution
// (convolution.h) holds one object per pass and number of rows, each chosen by itself (conv2d_choice.h): another way to
// compute a pass is another ConvPass class and a line there. Used from the replica's thread only.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/cpu/piece_pass.h"
#include "kernels/geometry.h"

namespace dptrain::backend::cpu {

enum class ConvPassKind { kForward, kBackwardData, kBackwardWeights };

/// A convolution of `rows` images, and what is computed with it.
struct ConvShape : kernels::ConvWindow {
  std::int64_t rows = 0;
  bool bias = true;
  bool relu = false;  ///< forward: max(y, 0) after the bias
  /// y and dy are those of a 2x2 max-pooling behind bias and ReLU, [rows, out_h / 2, out_w / 2, out_channels]: an odd
  /// last row or column is not seen. The convolution's own output and its gradient never exist.
  bool pool = false;
  bool pairs = false;     ///< another layer's pass could go along with forward (ConvTensors::before, after)
  bool bfloat16 = false;  ///< as RuntimeOptions::bfloat16_products: a pass may round what it multiplies
};

/// What a pass reads and writes; the others are null. Everything written is overwritten.
struct ConvTensors {
  const float* x = nullptr;        ///< forward, weights: read
  const float* weights = nullptr;  ///< forward, data: read
  const float* bias = nullptr;     ///< forward: read
  float* y = nullptr;              ///< forward: written
  const float* dy = nullptr;       ///< data, weights: read
  float* dx = nullptr;             ///< data: written
  float* dweights = nullptr;       ///< weights: written
  float* dbias = nullptr;          ///< weights: written, unless the shape has no bias
  std::uint8_t* taken = nullptr;   ///< with pool, one per y: forward: written, unless null; data, weights: read.
                                   ///< kNothingTaken where ReLU let nothing through
  /// Forward, of a pass that takes_pieces(): makes x; follows y. Null: none.
  const kernels::cpu::PiecePass* before = nullptr;
  const kernels::cpu::PiecePass* after = nullptr;
};

class ConvPass {
 public:
  virtual ~ConvPass() = default;
  /// "dnnl brgconv:avx512_core nhwc", for `summary --plan`.
  virtual std::string name() const = 0;
  /// Bytes that run() wants at `scratch`.
  virtual std::size_t scratch() const = 0;
  virtual void run(const ConvTensors& tensors, void* scratch) = 0;
  /// Runs ConvTensors::before and after piece by piece.
  virtual bool takes_pieces() const { return false; }
  /// Of a pass for the gradient of the weights: the pass that computes what this one and `data` do, the same bits, in
  /// less time. Null: there is none.
  virtual std::unique_ptr<ConvPass> together_with(const ConvPass& data) const {
    static_cast<void>(data);
    return nullptr;
  }
};

}  // namespace dptrain::backend::cpu
