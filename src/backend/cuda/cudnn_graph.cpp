#include "backend/cuda/cudnn_graph.h"

#include <array>
#include <utility>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::backend::cuda {
namespace {

using gpu::ConvProblem;
using Sizes = std::array<std::int64_t, 4>;  // N, C, H, W, or K, C, R, S

// The tensor between convolution and bias.
constexpr std::int64_t kSum = 10;

CudnnDescriptor make_window(const ConvProblem& p) {
  CudnnDescriptor window(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  window.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2})
      .set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION)
      .set_all(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {p.pad_top, p.pad_left})
      .set_all(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {p.pad_bottom, p.pad_right})
      .set_all(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {p.stride_h, p.stride_w})
      .set_all(CUDNN_ATTR_CONVOLUTION_DILATIONS, {p.dilation_h, p.dilation_w});
  window.finalize();
  return window;
}

/// Names of the attributes of a convolution operation, which differ between passes.
struct ConvNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t window, x, filter, y, alpha, beta;
};

constexpr ConvNames names_of(ConvPass pass) {
  switch (pass) {
    case ConvPass::kForward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvPass::kData:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvPass::kWeights: break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

class GraphBuilder {
 public:
  GraphBuilder(const ConvProblem& problem, ConvPass pass)
      : problem_(problem), pass_(pass), type_(cudnn_type(problem.type)) {}

  CudnnGraph build(const FusedOps& fused) {
    graph_.fused = fused;
    const Sizes output{problem_.rows, problem_.out_channels, problem_.out_h, problem_.out_w};
    const CudnnDescriptor& sum = fused.bias ? inside(kSum, output) : tensor(kY, output);
    convolve(sum);
    if (fused.bias) add(sum, tensor(kBias, {1, problem_.out_channels, 1, 1}), tensor(kY, output));
    graph_.graph = CudnnDescriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph_.graph.set_all(CUDNN_ATTR_OPERATIONGRAPH_OPS, std::span<const CudnnDescriptor>(graph_.operations)).finalize();
    return std::move(graph_);
  }

 private:
  CudnnDescriptor& keep(CudnnDescriptor part) { return graph_.parts.emplace_back(std::move(part)); }
  const CudnnDescriptor& tensor(std::int64_t id, const Sizes& sizes) { return make_tensor(id, sizes, type_, false); }
  const CudnnDescriptor& inside(std::int64_t id, const Sizes& sizes) {
    return make_tensor(id, sizes, CUDNN_DATA_FLOAT, true);
  }

  /// NHWC.
  const CudnnDescriptor& make_tensor(std::int64_t id, const Sizes& n, cudnnDataType_t type, bool is_virtual) {
    return keep(CudnnDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR))
        .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
        .set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{is_virtual ? kFullAlignment : problem_.alignment})
        .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual)
        .set_all(CUDNN_ATTR_TENSOR_DIMENSIONS, {n[0], n[1], n[2], n[3]})
        .set_all(CUDNN_ATTR_TENSOR_STRIDES, {n[1] * n[2] * n[3], 1, n[1] * n[3], n[1]})
        .finalize();
  }

  void convolve(const CudnnDescriptor& y) {
    const ConvProblem& p = problem_;
    const ConvNames names = names_of(pass_);
    graph_.operations.emplace_back(names.type)
        .set(names.window, keep(make_window(p)))
        .set(names.x, tensor(kX, {p.rows, p.in_channels, p.in_h, p.in_w}))
        .set(names.filter, tensor(kFilter, {p.out_channels, p.in_channels / p.groups, p.kernel_h, p.kernel_w}))
        .set(names.y, y)
        .set(names.alpha, 1.0F)
        .set(names.beta, 0.0F)
        .finalize();
  }

  void add(const CudnnDescriptor& x, const CudnnDescriptor& b, const CudnnDescriptor& y) {
    CudnnDescriptor& kind = keep(CudnnDescriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
    kind.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD)
        .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT)
        .finalize();
    CudnnDescriptor& operation = graph_.operations.emplace_back(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y)
        .finalize();
  }

  const ConvProblem& problem_;
  ConvPass pass_;
  cudnnDataType_t type_;
  CudnnGraph graph_;
};

}  // namespace

cudnnDataType_t cudnn_type(DType type) {
  switch (type) {
    case DType::kF32: return CUDNN_DATA_FLOAT;
    case DType::kBf16: return CUDNN_DATA_BFLOAT16;
    case DType::kF16: return CUDNN_DATA_HALF;
    default: throw Error(ErrorKind::kInternal, fmt::format("a cuDNN tensor in {}", name_of(type)));
  }
}

std::string_view name_of(ConvPass pass) noexcept {
  switch (pass) {
    case ConvPass::kForward: return "forward";
    case ConvPass::kData: return "data";
    case ConvPass::kWeights: return "weights";
  }
  return "";
}

std::shared_ptr<const CudnnGraph> make_conv_graph(const ConvProblem& problem, ConvPass pass, const FusedOps& fused) {
  return std::make_shared<const CudnnGraph>(
      GraphBuilder(problem, pass).build(pass == ConvPass::kForward ? fused : FusedOps{}));
}

std::string describe(const ConvProblem& p) {
  std::string text =
      fmt::format("{} [{}, {}, {}, {}] -> [{}, {}, {}, {}], filter {}x{}", name_of(p.type), p.rows, p.in_h, p.in_w,
                  p.in_channels, p.rows, p.out_h, p.out_w, p.out_channels, p.kernel_h, p.kernel_w);
  if (p.stride_h != 1 || p.stride_w != 1) text += fmt::format(", strides {}x{}", p.stride_h, p.stride_w);
  if (p.dilation_h != 1 || p.dilation_w != 1) text += fmt::format(", dilation {}x{}", p.dilation_h, p.dilation_w);
  if (p.pad_top != 0 || p.pad_bottom != 0 || p.pad_left != 0 || p.pad_right != 0)
    text += fmt::format(", padding ({}, {}), ({}, {})", p.pad_top, p.pad_bottom, p.pad_left, p.pad_right);
  if (p.groups != 1) text += fmt::format(", groups {}", p.groups);
  if (p.alignment != kFullAlignment) text += fmt::format(", aligned to {} bytes", p.alignment);
  return text;
}

}  // namespace dptrain::backend::cuda
