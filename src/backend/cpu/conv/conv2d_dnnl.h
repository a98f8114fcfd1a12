#pragma once

// Convolution passes of oneDNN. Images and weights of the caller are NHWC and HWIO; a pass that computes in blocked
// layouts reorders into scratch and back within run(). Made and used on the replica's thread.

#include <memory>

#include "backend/cpu/conv/conv_pass.h"

namespace dptrain::backend::cpu {

struct Dnnl;

enum class DnnlLayout {
  kNhwc,     ///< images as they are, weights as oneDNN likes them
  kBlocked,  ///< everything as oneDNN likes it
};

enum class DnnlWeights {
  kHwio,  ///< as everywhere
  kOhwi,  ///< [out_channels, kernel.h, kernel.w, in_channels]: for 1x1 the weights of the other direction
};

struct DnnlForm {
  DnnlLayout layout = DnnlLayout::kNhwc;
  bool bfloat16 = false;  ///< factors are rounded; what is written is float32 as ever
  DnnlWeights weights = DnnlWeights::kHwio;
};

/// Null where oneDNN has no implementation. kOhwi: forward passes without groups.
std::unique_ptr<ConvPass> make_dnnl_conv(ConvPassKind kind, const ConvShape& shape, const DnnlForm& form, Dnnl& dnnl);

/// Whether the pass runs oneDNN's reference or matrix-product fallback rather than a generated kernel.
bool is_slow(const ConvPass& pass);

}  // namespace dptrain::backend::cpu
