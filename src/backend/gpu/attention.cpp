// Attention, AdditiveAttention and MultiHeadAttention.

#include "kernels/cuda/attention.h"
#include "backend/attention_shapes.h"
#include "backend/gpu/conv_sets.h"
#include "backend/gpu/gpu_op.h"
#include "backend/ops/backend.h"
#include "backend/parts.h"
#include "core/error.h"
#include "core/format.h"
#include "kernels/cuda/bias.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/masked_steps.h"
#include "kernels/cuda/permute.h"
#include "nn/attention.h"

namespace dptrain::backend::DPTRAIN_BACKEND {
namespace {

inline void check_attention_fits(const kernels::AttentionShape& shape) {
  if (!kernel::attention_fits(shape))
    throw Error(ErrorKind::kDevice, fmt::format("queries of {} numbers and values of {} are too large for attention in "
                                                "a GPU's shared memory",
                                                shape.key_dim, shape.value_dim));
}

/// Attention and AdditiveAttention. Saved for backward: the kernel's saved tensors.
template <class Spec>
class AttentionOp final : public GpuOp, private SingleHeadAttention {
 public:
  AttentionOp(const Spec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), SingleHeadAttention(spec, context) {
    check_attention_fits(shape_);
  }

  plan::Need need() const override {
    Parts saved(nullptr), scratch(nullptr);
    if (has_backward_) saved.floats(kernel::attention_saved_floats(shape_, rows_));
    allocate_scratch(scratch);
    return {.saved = saved.taken(), .scratch = scratch.taken()};
  }

  void forward(const OpArgs& a) override {
    Parts scratch(a.scratch);
    const Scratch own = allocate_scratch(scratch);
    kernel::attention_forward(at(a), type_, inputs_of(a, own), a.out<void>(),
                              has_backward_ && a.training ? static_cast<float*>(a.saved) : nullptr);
    keep_valid(a, a.out<void>());
  }

  void backward(const OpArgs& a) override {
    Parts scratch(a.scratch);
    const Scratch own = allocate_scratch(scratch);
    const kernels::AttentionShape& s = shape_;
    keep_valid(a, a.dy<void>());
    void* const dv = a.input_gradients[1];
    const bool value_is_key = key_ == 1;
    kernel::attention_backward(
        at(a), type_, inputs_of(a, own), a.out<void>(), a.dy<void>(), static_cast<const float*>(a.saved), own.delta,
        {.dq = {a.input_gradients[0], s.key_dim},
         .dk = {value_is_key ? (dv == nullptr ? nullptr : own.dk) : a.input_gradients[2], s.key_dim},
         .dv = {dv, s.value_dim},
         .of_scores = own.of_scores});
    if (value_is_key && dv != nullptr) kernel::accumulate(at(a), type_, own.dk, dv, a.rows * s.keys * s.key_dim);
    if (own.of_scores != nullptr) write_gradient(a, own);
  }

  std::pair<double, double> flops_per_sample() const override { return score_flops(); }

 private:
  struct Scratch {
    void* dk;
    float *delta, *one, *of_scores, *sums, *bias_sums;
  };
  Scratch allocate_scratch(Parts& parts) const {
    const kernels::AttentionShape& s = shape_;
    const std::int64_t numbers = kernel::score_gradients(s), all = kernel::attention_parts(s, rows_);
    Scratch own{};
    own.one = parts.floats(1);
    if (!has_backward_) return own;
    own.dk = parts.take(key_ == 1 ? rows_ * s.keys * s.key_dim : 0, type_);
    own.delta = parts.floats(rows_ * s.queries);
    if (!scale_ && !weights_) return own;
    own.of_scores = parts.floats(all * numbers);
    own.sums = parts.floats(numbers);
    own.bias_sums = parts.floats(
        std::max(kernel::bias_gradient_workspace(all, numbers), kernel::bias_gradient_workspace(s.key_dim, 1)));
    return own;
  }

  kernel::AttentionInputs inputs_of(const OpArgs& a, const Scratch& own) const {
    const kernels::AttentionShape& s = shape_;
    const auto rows_of = [](const void* data, std::int64_t stride) {
      return kernel::AttentionRows{const_cast<void*>(data), stride};  // NOLINT: read alone
    };
    if (s.additive && !weights_) kernel::fill(at(a), 1, own.one, 1);
    return {.shape = s,
            .rows = a.rows,
            .q = rows_of(a.inputs[0], s.key_dim),
            .k = rows_of(a.inputs[key_], s.key_dim),
            .v = rows_of(a.inputs[1], s.value_dim),
            .score_weights = weights_ ? a.weights[*weights_] : own.one,
            .scale = scale_ ? a.weights[*scale_] : nullptr,
            .value_mask = mask_of(a, value_mask_),
            .dropout = dropout<kernel::Dropout>(a),
            .state = a.state};
  }

  /// Sets outputs of masked queries, or their gradients, to zero.
  void keep_valid(const OpArgs& a, void* y) const {
    if (query_mask_)
      kernel::keep_valid_steps(at(a), type_, y, a.in<std::uint8_t>(*query_mask_), a.rows * shape_.queries,
                               shape_.value_dim, y);
  }

  /// Sums the weights' gradients over all parts, and over features if there is only one weight.
  void write_gradient(const OpArgs& a, const Scratch& own) const {
    const kernels::AttentionShape& s = shape_;
    const std::int64_t numbers = kernel::score_gradients(s);
    kernel::bias_gradient(at(a), DType::kF32, own.of_scores, kernel::attention_parts(s, a.rows), numbers, own.bias_sums,
                          own.sums);
    if (float* const scale = gradient_of(a, scale_)) kernel::copy(at(a), DType::kF32, own.sums + numbers - 1, scale, 1);
    float* const weights = gradient_of(a, weights_);
    if (weights == nullptr) return;
    if (s.one_weight)
      kernel::bias_gradient(at(a), DType::kF32, own.sums, s.key_dim, 1, own.bias_sums, weights);
    else
      kernel::copy(at(a), DType::kF32, own.sums, weights, s.key_dim);
  }
  static float* gradient_of(const OpArgs& a, std::optional<std::size_t> weight) {
    return weight ? a.weight_gradients[*weight] : nullptr;
  }
};

/// Saved for backward: the projections, the heads' outputs, and the saved tensors of the kernel or of the
/// AttentionEngine, which computes the maximum number of rows in every call. Packed, in the compute type, for each
/// product: the kernels of its roles, columns outermost, and their biases.
class MultiHeadAttentionOp final : public GpuOp, private MultiHeadAttention {
 public:
  MultiHeadAttentionOp(const nn::MultiHeadAttentionSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), MultiHeadAttention(spec, context) {
    check_attention_fits(shape_);
    for (std::size_t i = 0; i < projections_.all().size(); ++i) {
      const AttentionProjection& p = projections_.all()[i];
      add_product(p.features, p.columns, p.steps, wants_dx_[i]);
    }
    add_product(heads_width_, context.output().back(), shape_.queries, reaches_heads_);
    if (device.options().cudnn_attention && why_own_kernels().empty())
      planned_ = device_.make_attention({.shape = shape_,
                                         .rows = rows_,
                                         .q_stride = stride_of(kQuery),
                                         .k_stride = stride_of(kKey),
                                         .v_stride = stride_of(kValue),
                                         .type = type_,
                                         .backward = has_backward_});
    prepare(rows_);
  }

  void prepare(std::int64_t rows) override {
    for (ConvSets& product : products_) product.prepare(rows);
  }
  plan::Need need() const override {
    Parts saved(nullptr), scratch(nullptr), packed(nullptr);
    if (has_backward_) allocate_saved(saved, true);
    allocate_saved(scratch, false);
    allocate_scratch(scratch);
    pack_in(packed);
    return {.saved = saved.taken(), .scratch = scratch.taken(), .packed = packed.taken()};
  }
  std::string implementation() const override {
    const std::string text = "projections " + products_.front().name();
    if (!device_.options().cudnn_attention) return text;
    if (const gpu::AttentionEngine* const attention = engine()) return text + "; attention " + attention->name();
    return text + "; attention own kernels: " + (planned_.valid() ? planned_.get().reason : why_own_kernels());
  }

  void pack(const OpArgs& a) override {
    Parts parts(a.packed);
    const Packed to = pack_in(parts);
    for (std::size_t p = 0; p < products_.size(); ++p)
      each_part(p, [&](std::size_t role, std::int64_t first, std::int64_t width, std::int64_t features) {
        kernel::permute(at(a), type_, transposed(features, width), a.compute_weights[weights_.kernel_of(role)], 1,
                        elements(to.kernels[p], first * features));
        if (spec_.use_bias)
          kernel::copy(at(a), type_, a.compute_weights[weights_.bias_of(role)], elements(to.biases[p], first), width);
      });
  }

  void forward(const OpArgs& a) override {
    const auto [saved_tensors, own] = places(a, has_backward_ && a.training);
    for (std::size_t p = 0; p < projections_.all().size(); ++p)
      multiply(a, p, a.inputs[projections_.all()[p].inputs.front()], saved_tensors.projected[p], own);
    if (gpu::AttentionEngine* const attention = engine())
      attention->forward(memory_of(saved_tensors, own), a.stream->native());
    else
      kernel::attention_forward(at(a), type_, inputs_of(a, saved_tensors), saved_tensors.heads, saved_tensors.scores);
    multiply(a, output(), saved_tensors.heads, a.out<void>(), own);
  }

  void backward(const OpArgs& a) override {
    const auto [saved_tensors, own] = places(a, true);
    differentiate(a, output(), saved_tensors.heads, a.dy<void>(), own);
    if (!reaches_heads_) return;
    multiply_back(a, output(), a.dy<void>(), own.heads_gradient, own);
    if (gpu::AttentionEngine* const attention = engine())
      attention->backward(memory_of(saved_tensors, own), a.stream->native());
    else
      kernel::attention_backward(at(a), type_, inputs_of(a, saved_tensors), saved_tensors.heads, own.heads_gradient,
                                 saved_tensors.scores, own.delta,
                                 {.dq = part_of(own.gradients, kQuery),
                                  .dk = part_of(own.gradients, kKey),
                                  .dv = part_of(own.gradients, kValue)});
    for (std::size_t p = 0; p < projections_.all().size(); ++p) {
      const AttentionProjection& projection = projections_.all()[p];
      differentiate(a, p, a.inputs[projection.inputs.front()], own.gradients[p], own);
      bool given = !products_[p].passes().data;  // a tensor passed as several inputs: the first gets the whole gradient
      for (const std::size_t input : projection.inputs) {
        void* const dx = a.input_gradients[input];
        if (dx == nullptr) continue;
        if (given)
          set_to_zero(a, dx, a.rows * projection.steps * projection.features);
        else
          multiply_back(a, p, own.gradients[p], dx, own);
        given = true;
      }
    }
  }

  std::pair<double, double> flops_per_sample() const override {
    auto [forward, backward] = score_flops();
    for (const ConvSets& product : products_) {
      forward += flops(product.sample());
      backward += flops(product.sample()) * (int{product.passes().data} + int{product.passes().weights});
    }
    return {forward, backward};
  }

 private:
  using Arrays = std::array<void*, 3>;  ///< per projection
  struct SavedTensors {
    Arrays projected{};
    void* heads = nullptr;
    float* scores = nullptr;
  };
  struct Scratch {
    Arrays gradients{};
    void* heads_gradient;
    float *delta, *filter, *bias, *bias_sums;
    std::byte* convolution;
  };
  struct Packed {
    std::array<void*, 4> kernels{}, biases{};  ///< per product, the output's last
  };

  void add_product(std::int64_t in, std::int64_t columns, std::int64_t steps, bool dx) {
    products_.push_back(product_sets(device_, product_problem(in, columns, steps, type_, spec_.use_bias),
                                     {.forward = true, .data = dx, .weights = trains_}));
  }
  std::size_t output() const { return projections_.all().size(); }

  /// The reason to use the kernels without looking for an engine, or "".
  std::string why_own_kernels() const {
    if (type_ == DType::kF32) return "float32";
    if (spec_.dropout > 0) return "dropout";
    return std::ranges::any_of(masks_, [](const auto& mask) { return mask.has_value(); }) ? "masks" : "";
  }
  /// Null: the kernels. Waits for the engine.
  gpu::AttentionEngine* engine() const { return planned_.valid() ? planned_.get().engine.get() : nullptr; }

  SavedTensors allocate_saved(Parts& parts, bool for_backward) const {
    SavedTensors saved_tensors;
    for (std::size_t p = 0; p < output(); ++p)
      saved_tensors.projected[p] =
          parts.take(rows_ * projections_.all()[p].steps * projections_.all()[p].columns, type_);
    saved_tensors.heads = parts.take(rows_ * shape_.queries * heads_width_, type_);
    if (engine() != nullptr)
      saved_tensors.scores = parts.floats(has_backward_ ? rows_ * shape_.heads * shape_.queries : 0);
    else if (for_backward)
      saved_tensors.scores = parts.floats(kernel::attention_saved_floats(shape_, rows_));
    return saved_tensors;
  }
  Scratch allocate_scratch(Parts& parts) const {
    Scratch own{};
    std::int64_t filter = 0, columns = 0, sums = 0;
    std::uint64_t workspace = engine() == nullptr ? 0 : engine()->workspace();
    for (std::size_t p = 0; p < products_.size(); ++p) {
      const gpu::ConvProblem& sample = products_[p].sample();
      workspace = std::max(workspace, products_[p].planned());
      if (p < output() && has_backward_)
        own.gradients[p] = parts.take(rows_ * sample.rows * sample.out_channels, type_);
      if (!trains_) continue;
      filter = std::max(filter, sample.in_channels * sample.out_channels);
      columns = std::max(columns, sample.out_channels);
      sums = std::max(sums, kernel::bias_gradient_workspace(rows_ * sample.rows, sample.out_channels));
    }
    own.heads_gradient = parts.take(reaches_heads_ ? rows_ * shape_.queries * heads_width_ : 0, type_);
    own.delta = parts.floats(reaches_heads_ ? rows_ * shape_.heads * shape_.queries : 0);
    own.filter = parts.floats(filter);
    own.bias = parts.floats(spec_.use_bias ? columns : 0);
    own.bias_sums = parts.floats(spec_.use_bias ? sums : 0);
    own.convolution = parts.take(workspace);
    return own;
  }
  std::pair<SavedTensors, Scratch> places(const OpArgs& a, bool saved) const {
    Parts saved_tensors(a.saved), scratch(a.scratch);
    const SavedTensors passing = allocate_saved(scratch, false);
    return {saved ? allocate_saved(saved_tensors, true) : passing, allocate_scratch(scratch)};
  }
  Packed pack_in(Parts& parts) const {
    Packed all;
    for (std::size_t p = 0; p < products_.size(); ++p) {
      const gpu::ConvProblem& sample = products_[p].sample();
      all.kernels[p] = parts.take(sample.in_channels * sample.out_channels, type_);
      if (spec_.use_bias) all.biases[p] = parts.take(sample.out_channels, type_);
    }
    return all;
  }

  /// Calls f(role, first column, columns, features) for each role of a product.
  template <class F>
  void each_part(std::size_t product, const F& f) const {
    if (product == output())
      return f(kOutputRole, std::int64_t{0}, products_[product].sample().out_channels, heads_width_);
    const AttentionProjection& p = projections_.all()[product];
    for (std::size_t i = 0; i < p.roles.size(); ++i)
      f(p.roles[i], p.first[i], AttentionProjections::width_of(spec_, p.roles[i]), p.features);
  }
  /// Transposes [rows, columns].
  static kernel::Permutation transposed(std::int64_t rows, std::int64_t columns) {
    return kernel::Permutation({rows, columns}, {1, 0});
  }

  void* elements(void* from, std::int64_t n) const {
    return static_cast<std::byte*>(from) + static_cast<std::uint64_t>(n) * size_of(type_);
  }
  kernel::AttentionRows part_of(const Arrays& of, std::size_t role) const {
    const std::size_t p = projections_.place(role);
    return {elements(of[p], projections_.first(role)), stride_of(role)};
  }
  std::int64_t stride_of(std::size_t role) const { return projections_.all()[projections_.place(role)].columns; }
  gpu::AttentionMemory memory_of(const SavedTensors& saved_tensors, const Scratch& own) const {
    const auto gradient = [&](std::size_t role) {
      return own.gradients.front() == nullptr ? nullptr : part_of(own.gradients, role).data;
    };
    return {.q = part_of(saved_tensors.projected, kQuery).data,
            .k = part_of(saved_tensors.projected, kKey).data,
            .v = part_of(saved_tensors.projected, kValue).data,
            .y = saved_tensors.heads,
            .stats = saved_tensors.scores,
            .dy = own.heads_gradient,
            .dq = gradient(kQuery),
            .dk = gradient(kKey),
            .dv = gradient(kValue),
            .delta = own.delta,
            .workspace = own.convolution};
  }
  kernel::AttentionInputs inputs_of(const OpArgs& a, const SavedTensors& saved_tensors) const {
    return {.shape = shape_,
            .rows = a.rows,
            .q = part_of(saved_tensors.projected, kQuery),
            .k = part_of(saved_tensors.projected, kKey),
            .v = part_of(saved_tensors.projected, kValue),
            .query_mask = mask(a, kQuery),
            .value_mask = mask(a, kValue),
            .key_mask = mask(a, kKey),
            .dropout = dropout<kernel::Dropout>(a),
            .state = a.state};
  }

  void multiply(const OpArgs& a, std::size_t p, const void* x, void* y, const Scratch& own) {
    Parts parts(a.packed);
    const Packed packed = pack_in(parts);
    const ConvSets::Call call = products_[p].call(a.rows, own.convolution);
    call.convolution.forward(x, packed.kernels[p], packed.biases[p], y, call.workspace, a.stream->native());
  }
  void multiply_back(const OpArgs& a, std::size_t p, const void* dy, void* dx, const Scratch& own) {
    Parts parts(a.packed);
    const Packed packed = pack_in(parts);
    const ConvSets::Call call = products_[p].call(a.rows, own.convolution);
    call.convolution.backward_data(dy, packed.kernels[p], dx, call.workspace, a.stream->native());
  }
  void differentiate(const OpArgs& a, std::size_t p, const void* x, const void* dy, const Scratch& own) {
    if (!trains_) return;
    const gpu::ConvProblem& sample = products_[p].sample();
    products_[p].call(a.rows, own.convolution).differentiate_filter(at(a), x, dy, own.filter);
    if (spec_.use_bias)
      kernel::bias_gradient(at(a), type_, dy, a.rows * sample.rows, sample.out_channels, own.bias_sums, own.bias);
    each_part(p, [&](std::size_t role, std::int64_t first, std::int64_t width, std::int64_t features) {
      if (float* const gradient = a.weight_gradients[weights_.kernel_of(role)])
        kernel::permute(at(a), DType::kF32, transposed(width, features), own.filter + first * features, 1, gradient);
      if (!spec_.use_bias) return;
      if (float* const gradient = a.weight_gradients[weights_.bias_of(role)])
        kernel::copy(at(a), DType::kF32, own.bias + first, gradient, width);
    });
  }

  std::vector<ConvSets> products_;                     ///< one per projection, then the output's
  std::shared_future<gpu::PlannedAttention> planned_;  ///< invalid: none was requested
};

const RegisteredOp kAttention = op<nn::AttentionSpec, AttentionOp<nn::AttentionSpec>>(kKind);
const RegisteredOp kAdditiveAttention = op<nn::AdditiveAttentionSpec, AttentionOp<nn::AdditiveAttentionSpec>>(kKind);
const RegisteredOp kMultiHeadAttention = op<nn::MultiHeadAttentionSpec, MultiHeadAttentionOp>(kKind);

}  // namespace
}  // namespace dptrain::backend::DPTRAIN_BACKEND
