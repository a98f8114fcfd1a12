#pragma once

// Makers of convolution passes. Passes are made and used on the thread of the replica; workspaces are the scratch of
// the op, for the number of threads of that thread. A maker returns null where its passes do not support the shape.

#include <memory>

#include "backend/cpu/conv/conv_pass.h"
#include "backend/cpu/processor_rules.h"

namespace dptrain::backend::cpu {

struct Dnnl;

// oneDNN (conv2d_dnnl.cpp). Images and weights of the caller are NHWC and HWIO; a pass that computes in blocked layouts
// reorders into scratch and back within run().

enum class DnnlLayout {
  kNhwc,     ///< images as they are, weights as oneDNN chooses
  kBlocked,  ///< everything as oneDNN chooses
};

enum class DnnlWeights {
  kHwio,
  kOhwi,  ///< [out_channels, kernel.h, kernel.w, in_channels]: for 1x1 the weights of the other direction
};

struct DnnlForm {
  DnnlLayout layout = DnnlLayout::kNhwc;
  bool bfloat16 = false;  ///< factors are rounded; results are float32
  DnnlWeights weights = DnnlWeights::kHwio;
};

/// kOhwi: forward passes without groups.
std::unique_ptr<ConvPass> make_dnnl_conv(ConvPassKind kind, const ConvShape& shape, const DnnlForm& form, Dnnl& dnnl);

/// Whether the pass runs oneDNN's reference or matrix-product fallback rather than a generated kernel.
bool is_slow(const ConvPass& pass);

/// Images of 1 to 4 channels (kernels/cpu/first_conv.h): forward and backward weights, either of them with the 2x2
/// max-pooling fused.
std::unique_ptr<ConvPass> make_first_conv(ConvPassKind kind, const ConvShape& shape);

/// Matrix products of kernels/cpu: gradients of the weights of 1x1 and strided convolutions, forward passes fused with
/// those of normalizations, and gradients of the input of 1x1 convolutions.
std::unique_ptr<ConvPass> make_gemm_conv(ConvPassKind kind, const ConvShape& shape);

/// Whether fusing the adjacent normalization's passes is faster than using oneDNN's pass. True only if there is such a
/// normalization and the weights are small enough to be read again with every chunk.
bool gemm_fusion_is_faster(ConvPassKind kind, const ConvShape& shape);

/// Whether make_gemm_conv() supports the shape and is faster than oneDNN, for any number of rows. By the rules of this
/// processor, or those given.
bool gemm_is_faster(ConvPassKind kind, const ConvShape& shape);
bool gemm_is_faster(ConvPassKind kind, const ConvShape& shape, const ProcessorRules& rules);

/// Runs `pass` and the 2x2 max-pooling separately, with the convolution's whole output or its gradient in scratch. For
/// layers whose other passes fuse the pooling. `shape` has pool set; `pass` was made for the shape without it.
std::unique_ptr<ConvPass> with_pooling(ConvPassKind kind, const ConvShape& shape, std::unique_ptr<ConvPass> pass);

/// Whether make_products_conv() supports the shape of a sample, for any number of rows.
bool fits_rounded_products(const ConvShape& shape);

/// The gradient of the weights of a 1x1 convolution as one product of matrices over all pixels of the output, of
/// factors rounded to bfloat16. Rounding gathers the pixels that strides select.
std::unique_ptr<ConvPass> make_products_conv(ConvPassKind kind, const ConvShape& shape, Dnnl& dnnl);

/// The gradient of the input of a 1x1 convolution as the forward pass from dy with transposed weights. `bfloat16`:
/// factors are rounded.
std::unique_ptr<ConvPass> make_data_as_forward_conv(ConvPassKind kind, const ConvShape& shape, bool bfloat16,
                                                    Dnnl& dnnl);

/// Winograd of kernels/cpu: 3x3 and 5x5 with stride 1.
std::unique_ptr<ConvPass> make_winograd_conv(ConvPassKind kind, const ConvShape& shape);

}  // namespace dptrain::backend::cpu
