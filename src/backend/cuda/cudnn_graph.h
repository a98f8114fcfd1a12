#pragma once

// One pass of one convolution as a graph of cuDNN operations: convolution, and forward its bias. Tensors are NHWC,
// filters KRSC, intermediate results and sums in float. Needs no device. One thread at a time.

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda/cudnn_descriptor.h"
#include "backend/gpu/convolution.h"

namespace dptrain::backend::cuda {

enum class ConvPass { kForward, kData, kWeights };
std::string_view name_of(ConvPass pass) noexcept;  ///< "forward", "data", "weights"

/// What the forward graph does after the convolution. Never the ReLU: cuDNN's may turn NaN into 0, which would hide
/// what has gone wrong, and the only engine that promises not to (CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP) is its slowest.
struct FusedOps {
  bool bias = false;
  bool operator==(const FusedOps&) const = default;
};

/// The tensors of a plan by number. In the data pass kX is dx and kY is dy, in the weights pass kFilter is dfilter.
enum ConvTensor : std::int64_t { kX = 1, kFilter = 2, kBias = 3, kY = 4 };

/// Kept as long as a plan made from it: whether a descriptor copies the descriptors it is given is not documented.
struct ConvGraph {
  std::deque<CudnnDescriptor> parts;  ///< tensors and the like, which the operations refer to
  std::vector<CudnnDescriptor> operations;
  CudnnDescriptor graph;
  FusedOps fused;
};

/// `fused` counts only forward. Throws Error{kDevice} where the problem makes no sense (sizes that do not fit
/// together).
std::shared_ptr<const ConvGraph> make_conv_graph(const gpu::ConvProblem& problem, ConvPass pass, const FusedOps& fused);

/// "bfloat16 [256, 56, 56, 64] -> [256, 28, 28, 128], filter 3x3, strides 2x2, padding (0, 1), (0, 1)": for messages.
std::string describe(const gpu::ConvProblem& problem);

}  // namespace dptrain::backend::cuda
