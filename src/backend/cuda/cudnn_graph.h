#pragma once

// One pass of a convolution as a graph of cuDNN operations: the convolution, and in forward its bias. Tensors are NHWC,
// filters KRSC, intermediate results and sums float. Needs no device. One thread at a time.

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda/cudnn_descriptor.h"
#include "backend/gpu/convolution.h"

namespace dptrain::backend::cuda {

/// Throws Error{kInternal} for types other than float32 and the 16-bit types.
cudnnDataType_t cudnn_type(DType type);

enum class ConvPass { kForward, kData, kWeights };
std::string_view name_of(ConvPass pass) noexcept;  ///< "forward", "data", "weights"

/// Operations of the forward graph after the convolution. ReLU is not among them: cuDNN's may turn NaN into 0 and thus
/// hide errors. The only engine that guarantees not to (CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP) is its slowest.
struct FusedOps {
  bool bias = false;
  bool operator==(const FusedOps&) const = default;
};

/// Tensors of a plan, by number. In the data pass kX is dx and kY is dy; in the weights pass kFilter is dfilter.
enum ConvTensor : std::int64_t { kX = 1, kFilter = 2, kBias = 3, kY = 4 };

/// Operations of a convolution or of attention (cudnn_attention.h). It must outlive its plans: cuDNN does not document
/// whether descriptors copy the descriptors that they refer to.
struct CudnnGraph {
  std::deque<CudnnDescriptor> parts;  ///< tensors and others that the operations refer to
  std::vector<CudnnDescriptor> operations;
  CudnnDescriptor graph;
  FusedOps fused;
};

/// Only forward uses `fused`. Throws Error{kDevice} if the sizes of the problem are inconsistent.
std::shared_ptr<const CudnnGraph> make_conv_graph(const gpu::ConvProblem& problem, ConvPass pass,
                                                  const FusedOps& fused);

/// "bfloat16 [256, 56, 56, 64] -> [256, 28, 28, 128], filter 3x3, strides 2x2, padding (0, 1), (0, 1)": for messages.
std::string describe(const gpu::ConvProblem& problem);

}  // namespace dptrain::backend::cuda
