#include "backend/cuda/cudnn_attention.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::backend::cuda {
namespace {

using gpu::AttentionProblem;
using Sizes = std::array<std::int64_t, 4>;

/// Tensors in memory; kScale, kOne and kMinusInfinity are numbers on the host. Others are inside of the engine.
enum AttentionTensor : std::int64_t {
  kQ = 1,
  kK,
  kV,
  kOutput,
  kStats,
  kOutputGradient,
  kDq,
  kDk,
  kDv,
  kDelta,
  kScale,
  kOne,
  kMinusInfinity,
  kFirstInside
};

Sizes packed(const Sizes& n) { return {n[1] * n[2] * n[3], n[2] * n[3], n[3], 1}; }
std::span<const std::int64_t> span_of(const Sizes& sizes) { return sizes; }

class AttentionBuilder {
 public:
  explicit AttentionBuilder(const AttentionProblem& problem)
      : p_(problem.shape),
        rows_(problem.rows),
        type_(cudnn_type(problem.type)),
        scores_{rows_, p_.heads, p_.queries, p_.keys},
        per_query_{rows_, p_.heads, p_.queries, 1} {
    const auto heads = [&](std::int64_t positions, std::int64_t width, std::int64_t stride) {
      return Layout{{rows_, p_.heads, positions, width}, {positions * stride, width, stride, 1}};
    };
    q_ = heads(p_.queries, p_.key_dim, problem.q_stride);
    k_ = heads(p_.keys, p_.key_dim, problem.k_stride);
    v_ = heads(p_.keys, p_.value_dim, problem.v_stride);
    y_ = heads(p_.queries, p_.value_dim, p_.heads * p_.value_dim);
  }

  CudnnGraph forward(bool stats) {
    const Ref q = memory(kQ, q_), k = memory(kK, transposed(k_)), v = memory(kV, v_);
    Ref x = pointwise(CUDNN_POINTWISE_MUL, product(q, k, inside(scores_)), number(kScale), inside(scores_));
    x = causal(x);
    const Ref largest = reduce(CUDNN_REDUCE_TENSOR_MAX, x, inside(per_query_));
    x = pointwise(CUDNN_POINTWISE_SUB, x, largest, inside(scores_));
    x = pointwise(CUDNN_POINTWISE_EXP, x, {}, inside(scores_));
    const Ref sum = reduce(CUDNN_REDUCE_TENSOR_ADD, x, inside(per_query_));
    if (stats) {
      const Ref log = pointwise(CUDNN_POINTWISE_LOG, sum, {}, inside(per_query_));
      pointwise(CUDNN_POINTWISE_ADD, largest, log, per_query(kStats));
    }
    x = pointwise(CUDNN_POINTWISE_DIV, x, sum, inside(scores_, type_));
    product(x, v, memory(kOutput, y_));
    return finish();
  }

  CudnnGraph backward() {
    const Ref q = memory(kQ, q_), k = memory(kK, transposed(k_)), v = memory(kV, transposed(v_)),
              y = memory(kOutput, y_), dy = memory(kOutputGradient, y_), scale = number(kScale);
    Ref delta = pointwise(CUDNN_POINTWISE_MUL, dy, y, inside(y_.sizes));
    delta = reduce(CUDNN_REDUCE_TENSOR_ADD, delta, inside(per_query_));
    delta = pointwise(CUDNN_POINTWISE_MUL, delta, number(kOne), per_query(kDelta));

    Ref x = pointwise(CUDNN_POINTWISE_MUL, product(q, k, inside(scores_)), scale, inside(scores_));
    x = pointwise(CUDNN_POINTWISE_SUB, x, per_query(kStats), inside(scores_));
    x = causal(x);
    const Ref probabilities = pointwise(CUDNN_POINTWISE_EXP, x, {}, inside(scores_));
    product(reshaped_scores(probabilities), dy, memory(kDv, v_));

    x = pointwise(CUDNN_POINTWISE_SUB, product(dy, v, inside(scores_)), delta, inside(scores_));
    x = pointwise(CUDNN_POINTWISE_MUL, x, probabilities, inside(scores_));
    x = pointwise(CUDNN_POINTWISE_MUL, x, scale, inside(scores_));
    product(reshaped_scores(x), q, memory(kDk, k_));
    product(x, reshape(k, make_tensor(next_++, k_, type_, Kind::kInside)), memory(kDq, q_));
    return finish();
  }

 private:
  struct Layout {
    Sizes sizes, strides;
  };
  enum class Kind { kMemory, kInside, kNumber };
  /// A tensor of the graph; null: none.
  using Ref = const CudnnDescriptor*;

  static Layout transposed(Layout of) {
    std::swap(of.sizes[2], of.sizes[3]);
    std::swap(of.strides[2], of.strides[3]);
    return of;
  }

  Ref make_tensor(std::int64_t id, const Layout& of, cudnnDataType_t type, Kind kind) {
    CudnnDescriptor& tensor = keep(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
        .set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{kFullAlignment})
        .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, kind == Kind::kInside)
        .set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, kind == Kind::kNumber)
        .set_all(CUDNN_ATTR_TENSOR_DIMENSIONS, span_of(of.sizes))
        .set_all(CUDNN_ATTR_TENSOR_STRIDES, span_of(of.strides))
        .finalize();
    return &tensor;
  }
  Ref memory(AttentionTensor id, const Layout& of) { return make_tensor(id, of, type_, Kind::kMemory); }
  Ref per_query(AttentionTensor id) {
    return make_tensor(id, {per_query_, packed(per_query_)}, CUDNN_DATA_FLOAT, Kind::kMemory);
  }
  Ref number(AttentionTensor id) {
    return make_tensor(id, {{1, 1, 1, 1}, {1, 1, 1, 1}}, CUDNN_DATA_FLOAT, Kind::kNumber);
  }
  Ref inside(const Sizes& sizes, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return make_tensor(next_++, {sizes, packed(sizes)}, type, Kind::kInside);
  }

  CudnnDescriptor& keep(cudnnBackendDescriptorType_t type) { return graph_.parts.emplace_back(type); }
  CudnnDescriptor& operation(cudnnBackendDescriptorType_t type) { return graph_.operations.emplace_back(type); }

  Ref product(Ref a, Ref b, Ref c) {
    CudnnDescriptor& kind = keep(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    kind.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT).finalize();
    operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
        .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, kind)
        .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, *a)
        .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, *b)
        .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, *c)
        .finalize();
    return c;
  }
  Ref reduce(cudnnReduceTensorOp_t how, Ref x, Ref y) {
    CudnnDescriptor& kind = keep(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    kind.set(CUDNN_ATTR_REDUCTION_OPERATOR, how).set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT).finalize();
    operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, kind)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, *x)
        .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, *y)
        .finalize();
    return y;
  }
  Ref reshape(Ref x, Ref y) {
    operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR)
        .set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, *x)
        .set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, *y)
        .finalize();
    return y;
  }
  /// Keys before queries, in the problem's type.
  Ref reshaped_scores(Ref x) {
    return reshape(x, make_tensor(next_++, transposed({scores_, packed(scores_)}), type_, Kind::kInside));
  }

  struct PointwiseOptions {
    cudnnDataType_t precision = CUDNN_DATA_FLOAT;
    std::optional<std::int64_t> axis{};  ///< of CUDNN_POINTWISE_GEN_INDEX
    Ref condition = nullptr;             ///< of CUDNN_POINTWISE_BINARY_SELECT
  };
  Ref pointwise(cudnnPointwiseMode_t mode, Ref x, Ref b, Ref y) { return pointwise(mode, x, b, y, {}); }
  Ref pointwise(cudnnPointwiseMode_t mode, Ref x, Ref b, Ref y, const PointwiseOptions& options) {
    CudnnDescriptor& kind = keep(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    kind.set(CUDNN_ATTR_POINTWISE_MODE, mode).set(CUDNN_ATTR_POINTWISE_MATH_PREC, options.precision);
    if (options.axis) kind.set(CUDNN_ATTR_POINTWISE_AXIS, *options.axis);
    kind.finalize();
    CudnnDescriptor& made = operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    made.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind).set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x);
    if (b != nullptr) made.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    if (options.condition != nullptr) made.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *options.condition);
    made.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *y).finalize();
    return y;
  }

  /// Query i attends to the keys [0, i].
  Ref causal(Ref x) {
    if (!p_.causal) return x;
    const auto index = [&](std::int64_t axis) {
      return pointwise(CUDNN_POINTWISE_GEN_INDEX, x, {}, inside(scores_, CUDNN_DATA_INT32), {.axis = axis});
    };
    const Ref query = index(2), key = index(3);
    const Ref visible = pointwise(CUDNN_POINTWISE_CMP_GE, query, key, inside(scores_, CUDNN_DATA_BOOLEAN),
                                  {.precision = CUDNN_DATA_BOOLEAN});
    return pointwise(CUDNN_POINTWISE_BINARY_SELECT, x, number(kMinusInfinity), inside(scores_), {.condition = visible});
  }

  CudnnGraph finish() {
    graph_.graph = CudnnDescriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph_.graph.set_all(CUDNN_ATTR_OPERATIONGRAPH_OPS, std::span<const CudnnDescriptor>(graph_.operations)).finalize();
    return std::move(graph_);
  }

  const kernels::AttentionShape& p_;
  std::int64_t rows_;
  cudnnDataType_t type_;
  Sizes scores_, per_query_;
  Layout q_{}, k_{}, v_{}, y_{};
  std::int64_t next_ = kFirstInside;
  CudnnGraph graph_;
};

class CudnnAttention final : public gpu::AttentionEngine {
 public:
  CudnnAttention(const AttentionProblem& problem, std::shared_ptr<const EnginePlan> forward,
                 std::shared_ptr<const EnginePlan> backward, std::shared_ptr<CudnnHandle> handle)
      : problem_(problem), forward_(std::move(forward)), handle_(std::move(handle)) {
    if (backward) backward_.emplace(std::move(backward));
  }

  std::uint64_t workspace() const override {
    return std::max(forward_.workspace(), backward_ ? backward_->workspace() : 0);
  }
  std::string name() const override {
    return "cudnn forward " + forward_.name() + (backward_ ? ", backward " + backward_->name() : "");
  }

  void forward(const gpu::AttentionMemory& m, gpu::StreamHandle stream) override {
    std::vector<TensorAddress> tensors = common(m);
    if (backward_) tensors.push_back({kStats, m.stats});
    run(forward_, tensors, m.workspace, stream);
  }

  void backward(const gpu::AttentionMemory& m, gpu::StreamHandle stream) override {
    if (!backward_) throw Error(ErrorKind::kInternal, "attention was planned without its backward pass");
    std::vector<TensorAddress> tensors = common(m);
    tensors.insert(tensors.end(), {{kStats, m.stats},
                                   {kOutputGradient, m.dy},
                                   {kDq, m.dq},
                                   {kDk, m.dk},
                                   {kDv, m.dv},
                                   {kDelta, m.delta},
                                   {kOne, &kOneValue}});
    run(*backward_, tensors, m.workspace, stream);
  }

 private:
  static constexpr float kOneValue = 1, kMinusInfinityValue = -std::numeric_limits<float>::infinity();

  std::vector<TensorAddress> common(const gpu::AttentionMemory& m) const {
    std::vector<TensorAddress> tensors{
        {kQ, m.q}, {kK, m.k}, {kV, m.v}, {kOutput, m.y}, {kScale, &problem_.shape.scale}};
    if (problem_.shape.causal) tensors.push_back({kMinusInfinity, &kMinusInfinityValue});
    return tensors;
  }

  void run(CudnnPass& pass, std::span<const TensorAddress> tensors, void* workspace, gpu::StreamHandle stream) {
    if (!handle_) throw Error(ErrorKind::kInternal, "attention that was planned without a GPU cannot run");
    try {
      pass.run(*handle_, tensors, workspace, stream);
    } catch (const Error& error) {
      throw error.within("attention " + describe(problem_));
    }
  }

  const AttentionProblem problem_;  // cuDNN reads the scale at its address
  CudnnPass forward_;
  std::optional<CudnnPass> backward_;
  std::shared_ptr<CudnnHandle> handle_;
};

}  // namespace

std::string why_no_cudnn_attention(const AttentionProblem& problem, std::size_t version) {
  constexpr std::size_t kOldest = 91800;  // deterministic backward on all GPUs, odd numbers of keys
  constexpr std::int64_t kWidest = 128, kMultiple = 8;
  const kernels::AttentionShape& p = problem.shape;
  if (version < kOldest) return "needs cuDNN 9.18 or newer";
  if (p.queries == 1 && p.keys == 1) return "one query and one key";
  for (const std::int64_t width : {p.key_dim, p.value_dim})
    if (width % kMultiple != 0 || width > kWidest)
      return fmt::format("heads of {} elements, expected a multiple of {} up to {}", width, kMultiple, kWidest);
  return "";
}

std::shared_ptr<const CudnnGraph> make_attention_graph(const AttentionProblem& problem, bool backward) {
  AttentionBuilder builder(problem);
  return std::make_shared<const CudnnGraph>(backward ? builder.backward() : builder.forward(problem.backward));
}

std::string describe(const AttentionProblem& problem) {
  const kernels::AttentionShape& p = problem.shape;
  return fmt::format("{} [{}, {}, {}, {}] x [{}, {}, {}, {}], values of {}{}", name_of(problem.type), problem.rows,
                     p.heads, p.queries, p.key_dim, problem.rows, p.heads, p.keys, p.key_dim, p.value_dim,
                     p.causal ? ", causal" : "");
}

std::unique_ptr<gpu::AttentionEngine> make_cudnn_attention(const AttentionProblem& problem,
                                                           std::shared_ptr<const EnginePlan> forward,
                                                           std::shared_ptr<const EnginePlan> backward,
                                                           std::shared_ptr<CudnnHandle> handle) {
  return std::make_unique<CudnnAttention>(problem, std::move(forward), std::move(backward), std::move(handle));
}

}  // namespace dptrain::backend::cuda
