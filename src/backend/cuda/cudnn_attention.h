#pragma once

// gpu::AttentionEngine with cuDNN. A pass is a graph of operations that cuDNN recognizes as attention and computes with
// one engine. Forward is y = softmax(scale q k') v. Backward recomputes the probabilities as exp(scores - stats):
//
//   delta = sum(dy * y)    dv = p' dy    ds = scale p (dy v' - delta)    dk = ds' q    dq = ds k
//
// Backward has the same bits in every run: the engines store ds in their workspace (rows * heads * queries * keys
// elements, padded) and dq is one product. cuDNN's other form adds dq with atomics, which none of its notes mentions.

#include <memory>
#include <string>

#include "backend/cuda/cudnn_pass.h"
#include "backend/gpu/attention_engine.h"

namespace dptrain::backend::cuda {

/// The reason why cuDNN's attention is not used for the problem with this cudnnGetVersion(), or "".
std::string why_no_cudnn_attention(const gpu::AttentionProblem& problem, std::size_t version);

/// Forward, or backward. Throws Error{kDevice} if the sizes of the problem are inconsistent.
std::shared_ptr<const CudnnGraph> make_attention_graph(const gpu::AttentionProblem& problem, bool backward);

/// "bfloat16 [32, 8, 512, 64] x [32, 8, 300, 64], values of 32, causal": for messages.
std::string describe(const gpu::AttentionProblem& problem);

/// `backward`: null without problem.backward. `handle`: null if it is only planned.
std::unique_ptr<gpu::AttentionEngine> make_cudnn_attention(const gpu::AttentionProblem& problem,
                                                           std::shared_ptr<const EnginePlan> forward,
                                                           std::shared_ptr<const EnginePlan> backward,
                                                           std::shared_ptr<CudnnHandle> handle);

}  // namespace dptrain::backend::cuda
