#pragma once

// Convolution passes as matrix products, of kernels/cpu: gradients of the weights of 1x1 and strided convolutions,
// forward passes along which those of normalisations go, and gradients of the input of 1x1 convolutions. The workspace
// is the op's scratch, for the number of threads of the thread that makes the pass: the replica's.

#include <memory>

#include "backend/cpu/conv/conv_pass.h"
#include "backend/cpu/processor_rules.h"

namespace dptrain::backend::cpu {

/// Null where the pass or the shape is of another kind.
std::unique_ptr<ConvPass> make_gemm_conv(ConvPassKind kind, const ConvShape& shape);

/// Whether the pass is one along which another layer's is worth more than what oneDNN may gain: beside it there is one,
/// and the weights are few enough to be read again with every chunk.
bool gemm_pairs(ConvPassKind kind, const ConvShape& shape);

/// Whether there is such a pass, faster than oneDNN's: by the shape of one sample and the rules of this machine's
/// processor, or those given.
bool gemm_pays(ConvPassKind kind, const ConvShape& shape);
bool gemm_pays(ConvPassKind kind, const ConvShape& shape, const ProcessorRules& rules);

}  // namespace dptrain::backend::cpu
