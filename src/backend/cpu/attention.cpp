// Attention, AdditiveAttention and MultiHeadAttention.

#include <memory>

#include "backend/attention_shapes.h"
#include "backend/cpu/cpu_device.h"
#include "backend/cpu/inner_product.h"
#include "backend/cpu/row_count_cache.h"
#include "backend/device.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/masked_steps.h"
#include "kernels/cpu/pad.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/workspace.h"
#include "nn/attention.h"

namespace dptrain::backend::cpu {
namespace {

using kernels::cpu::AttentionRows;
using kernels::cpu::copy_columns;

/// Attention and AdditiveAttention. Saved for backward: the kernel's saved tensors.
template <class Spec>
class AttentionOp final : public Op, private SingleHeadAttention {
 public:
  AttentionOp(const Spec& spec, const OpContext& context, Device&) : SingleHeadAttention(spec, context) {}

  plan::Need need() const override {
    kernels::cpu::WorkspaceParts scratch(nullptr);
    allocate_scratch(scratch);
    const std::int64_t saved_floats = has_backward_ ? kernels::cpu::attention_saved_floats(shape_, rows_) : 0;
    return {.saved = static_cast<std::uint64_t>(saved_floats) * sizeof(float),
            .scratch = static_cast<std::uint64_t>(scratch.taken()) * sizeof(float)};
  }

  void forward(const OpArgs& a) override {
    kernels::cpu::WorkspaceParts scratch(static_cast<float*>(a.scratch));
    const Scratch own = allocate_scratch(scratch);
    kernels::cpu::attention_forward(
        {.of = inputs_of(a),
         .y = a.out(),
         .saved_tensors = has_backward_ && a.training ? static_cast<float*>(a.saved) : nullptr},
        own.workspace);
    keep_valid(a, a.out());
  }

  void backward(const OpArgs& a) override {
    kernels::cpu::WorkspaceParts scratch(static_cast<float*>(a.scratch));
    const Scratch own = allocate_scratch(scratch);
    const kernels::AttentionShape& s = shape_;
    keep_valid(a, a.dy());
    const auto rows_of = [](float* data, std::int64_t stride) {
      return kernels::cpu::AttentionRows<float>{data, stride};
    };
    float* const dv = a.dx(1);
    const bool value_is_key = key_ == 1;
    kernels::cpu::attention_backward(
        {.of = inputs_of(a),
         .y = a.out(),
         .dy = a.dy(),
         .saved_tensors = static_cast<const float*>(a.saved),
         .dq = rows_of(a.dx(0), s.key_dim),
         .dk = rows_of(value_is_key ? (dv == nullptr ? nullptr : own.dk) : a.dx(2), s.key_dim),
         .dv = rows_of(dv, s.value_dim),
         .of_scores = own.of_scores},
        own.workspace);
    if (value_is_key && dv != nullptr) kernels::cpu::accumulate(own.dk, dv, a.rows * s.keys * s.key_dim);
    write_gradient(a, own, scale_, kernels::cpu::score_gradients(s) - 1, 1, 1);
    write_gradient(a, own, weights_, 0, weight_numbers(), s.one_weight ? s.key_dim : 1);
  }

  std::pair<double, double> flops_per_sample() const override { return score_flops(); }

 private:
  struct Scratch {
    float *dk, *of_scores, *workspace;
  };
  Scratch allocate_scratch(kernels::cpu::WorkspaceParts& parts) const {
    const kernels::AttentionShape& s = shape_;
    const int threads = kernels::cpu::thread_count();
    const bool trains = has_backward_ && (scale_ || weights_);
    Scratch own{};
    own.dk = parts.take(has_backward_ && key_ == 1 ? rows_ * s.keys * s.key_dim : 0);
    own.of_scores = trains ? parts.take(rows_ * kernels::cpu::score_gradients(s)) : nullptr;
    own.workspace = parts.take(std::max(kernels::cpu::attention_forward_workspace(s, threads),
                                        has_backward_ ? kernels::cpu::attention_backward_workspace(s, threads) : 0));
    return own;
  }

  kernels::cpu::AttentionInputs inputs_of(const OpArgs& a) const {
    kernels::AttentionShape s = shape_;
    if (scale_) s.scale = *a.weights[*scale_];
    return {.shape = s,
            .rows = a.rows,
            .q = {a.in(0), s.key_dim},
            .k = {a.in(key_), s.key_dim},
            .v = {a.in(1), s.value_dim},
            .score_weights = weights_ ? a.weights[*weights_] : &kOne,
            .value_mask = mask_of(a, value_mask_),
            .dropout = dropout<kernels::cpu::Dropout>(a)};
  }

  /// Sets the outputs, or their gradients, of masked queries to zero.
  void keep_valid(const OpArgs& a, float* y) const {
    if (query_mask_)
      kernels::cpu::keep_valid_steps({}, DType::kF32, y, a.in<std::uint8_t>(*query_mask_), a.rows * shape_.queries,
                                     shape_.value_dim, y);
  }

  /// Writes the gradient of a weight: each element is a sum over the rows and over `joined` adjacent numbers.
  void write_gradient(const OpArgs& a, const Scratch& own, std::optional<std::size_t> weight, std::int64_t first,
                      std::int64_t numbers, std::int64_t joined) const {
    if (!weight || a.weight_gradients[*weight] == nullptr) return;
    const std::int64_t stride = kernels::cpu::score_gradients(shape_);
    for (std::int64_t n = 0; n < numbers; ++n) {
      double sum = 0;
      for (std::int64_t row = 0; row < a.rows; ++row)
        for (std::int64_t j = 0; j < joined; ++j)
          sum += static_cast<double>(own.of_scores[row * stride + first + n * joined + j]);
      a.weight_gradients[*weight][n] = static_cast<float>(sum);
    }
  }

  static constexpr float kOne = 1;
};

using Products = RowCountCache<InnerProduct>;

/// Saved for backward: the projections, which backward replaces by their gradients, the outputs of the heads, and the
/// kernel's saved tensors. Packed: kernels and biases of fused projections.
class MultiHeadAttentionOp final : public Op, private MultiHeadAttention {
 public:
  MultiHeadAttentionOp(const nn::MultiHeadAttentionSpec& spec, const OpContext& context, Device& device)
      : MultiHeadAttention(spec, context), device_(static_cast<CpuDevice&>(device)), out_(context.output().back()) {
    for (std::size_t i = 0; i < projections_.all().size(); ++i)
      products_.push_back(std::make_unique<Products>([this, i](std::int64_t rows) {
        const AttentionProjection& p = projections_.all()[i];
        return InnerProduct(rows * p.steps, p.features, p.columns, spec_.use_bias, wants_dx_[i], trains_,
                            device_.dnnl());
      }));
    output_ = std::make_unique<Products>([this](std::int64_t rows) {
      return InnerProduct(rows * shape_.queries, heads_width_, out_, spec_.use_bias, reaches_heads_, trains_,
                          device_.dnnl());
    });
    prepare(rows_);
    implementation_ = "projections: " + products_.front()->at(rows_).name() + "; attention " + kernels::cpu::isa_name();
  }

  void prepare(std::int64_t rows) override {
    for (const auto& product : products_) product->prepare(rows);
    output_->prepare(rows);
  }

  plan::Need need() const override {
    kernels::cpu::WorkspaceParts saved(nullptr), scratch(nullptr);
    if (has_backward_) allocate_saved(saved, true);
    allocate_saved(scratch, false);
    allocate_scratch(scratch);
    return {.saved = bytes(saved), .scratch = bytes(scratch), .packed = packed(nullptr).bytes};
  }
  std::string implementation() const override { return implementation_; }

  /// Concatenates the kernels of each fused projection along their columns, and the biases.
  void pack(const OpArgs& a) override {
    const Packed to = packed(a.packed);
    for (std::size_t p = 0; p < projections_.all().size(); ++p) {
      const AttentionProjection& projection = projections_.all()[p];
      if (!projection.fused()) continue;
      for (std::size_t i = 0; i < projection.roles.size(); ++i) {
        const std::size_t role = projection.roles[i];
        const std::int64_t width = AttentionProjections::width_of(spec_, role), first = projection.first[i];
        copy_columns({}, DType::kF32, a.weights[weights_.kernel_of(role)], width, to.kernels[p] + first,
                     projection.columns, projection.features, width);
        if (spec_.use_bias)
          kernels::cpu::copy({}, DType::kF32, a.weights[weights_.bias_of(role)], to.biases[p] + first, width);
      }
    }
  }

  void forward(const OpArgs& a) override {
    const auto [saved_tensors, own] = places(a, has_backward_ && a.training);
    const Packed of = packed(a.packed);
    for (std::size_t p = 0; p < products_.size(); ++p) {
      const AttentionProjection& projection = projections_.all()[p];
      InnerProduct& product = products_[p]->at(a.rows);
      product.forward(a.in(projection.inputs.front()), kernel(a, of, p), bias(a, of, p), saved_tensors.projected[p],
                      products_[p]->scratch(product, own.workspace));
    }
    kernels::cpu::attention_forward(
        {.of = inputs_of(a, saved_tensors), .y = saved_tensors.heads, .saved_tensors = saved_tensors.scores},
        own.workspace);
    InnerProduct& product = output_->at(a.rows);
    product.forward(saved_tensors.heads, a.weights[weights_.kernel_of(kOutputRole)],
                    spec_.use_bias ? a.weights[weights_.bias_of(kOutputRole)] : nullptr, a.out(),
                    output_->scratch(product, own.workspace));
  }

  void backward(const OpArgs& a) override {
    const auto [saved_tensors, own] = places(a, true);
    InnerProduct& product = output_->at(a.rows);
    void* const scratch = output_->scratch(product, own.workspace);
    if (float* const gradient = gradient_of(a, weights_.kernel_of(kOutputRole)))
      product.backward_weights(saved_tensors.heads, a.dy(), gradient,
                               spec_.use_bias ? gradient_of(a, weights_.bias_of(kOutputRole)) : nullptr, scratch);
    if (!reaches_heads_) return;
    product.backward_data(a.dy(), a.weights[weights_.kernel_of(kOutputRole)], own.heads_gradient, scratch);
    kernels::cpu::attention_backward({.of = inputs_of(a, saved_tensors),
                                      .y = saved_tensors.heads,
                                      .dy = own.heads_gradient,
                                      .saved_tensors = saved_tensors.scores,
                                      .dq = projected<float>(saved_tensors, kQuery),
                                      .dk = projected<float>(saved_tensors, kKey),
                                      .dv = projected<float>(saved_tensors, kValue)},
                                     own.workspace);
    for (std::size_t p = 0; p < products_.size(); ++p) differentiate(a, p, saved_tensors.projected[p], own);
  }

  std::pair<double, double> flops_per_sample() const override {
    const double output = 2.0 * static_cast<double>(shape_.queries * heads_width_) * static_cast<double>(out_);
    auto [forward, backward] = score_flops();
    forward += output;
    backward += output * (int{reaches_heads_} + int{trains_});
    for (std::size_t p = 0; p < products_.size(); ++p) {
      const AttentionProjection& one = projections_.all()[p];
      const double product = 2.0 * static_cast<double>(one.steps * one.features) * static_cast<double>(one.columns);
      forward += product;
      backward += product * (int{wants_dx_[p]} + int{trains_});
    }
    return {forward, backward};
  }

 private:
  struct SavedTensors {
    std::array<float*, 3> projected{};  ///< by projection
    float *heads = nullptr, *scores = nullptr;
  };
  struct Scratch {
    float *heads_gradient, *kernel_gradient, *bias_gradient, *workspace;
  };
  struct Packed {
    std::array<float*, 3> kernels{}, biases{};
    std::uint64_t bytes = 0;
  };

  static std::uint64_t bytes(const kernels::cpu::WorkspaceParts& parts) {
    return static_cast<std::uint64_t>(parts.taken()) * sizeof(float);
  }

  SavedTensors allocate_saved(kernels::cpu::WorkspaceParts& parts, bool for_backward) const {
    SavedTensors saved_tensors;
    for (std::size_t p = 0; p < projections_.all().size(); ++p)
      saved_tensors.projected[p] = parts.take(rows_ * projections_.all()[p].steps * projections_.all()[p].columns);
    saved_tensors.heads = parts.take(rows_ * shape_.queries * heads_width_);
    if (for_backward) saved_tensors.scores = parts.take(kernels::cpu::attention_saved_floats(shape_, rows_));
    return saved_tensors;
  }

  Scratch allocate_scratch(kernels::cpu::WorkspaceParts& parts) const {
    std::int64_t kernel = 0, bias = 0;
    for (const AttentionProjection& p : projections_.all()) {
      if (!p.fused() || !trains_) continue;
      kernel = std::max(kernel, p.features * p.columns);
      bias = std::max(bias, p.columns);
    }
    Scratch own{};
    own.heads_gradient = parts.take(reaches_heads_ ? rows_ * shape_.queries * heads_width_ : 0);
    own.kernel_gradient = parts.take(kernel);
    own.bias_gradient = parts.take(bias);
    std::size_t products = output_->planned_scratch();
    for (const auto& product : products_) products = std::max(products, product->planned_scratch());
    const int threads = kernels::cpu::thread_count();
    own.workspace =
        parts.take(std::max({static_cast<std::int64_t>((products + sizeof(float) - 1) / sizeof(float)),
                             kernels::cpu::attention_forward_workspace(shape_, threads),
                             has_backward_ ? kernels::cpu::attention_backward_workspace(shape_, threads) : 0}));
    return own;
  }

  std::pair<SavedTensors, Scratch> places(const OpArgs& a, bool saved) const {
    kernels::cpu::WorkspaceParts saved_tensors(static_cast<float*>(a.saved)), scratch(static_cast<float*>(a.scratch));
    const SavedTensors passing = allocate_saved(scratch, false);
    return {saved ? allocate_saved(saved_tensors, true) : passing, allocate_scratch(scratch)};
  }

  Packed packed(void* memory) const {
    kernels::cpu::WorkspaceParts parts(static_cast<float*>(memory));
    Packed all;
    bool any = false;
    for (std::size_t p = 0; p < projections_.all().size(); ++p) {
      const AttentionProjection& projection = projections_.all()[p];
      if (!projection.fused()) continue;
      any = true;
      all.kernels[p] = parts.take(projection.features * projection.columns);
      if (spec_.use_bias) all.biases[p] = parts.take(projection.columns);
    }
    all.bytes = any ? bytes(parts) : 0;
    return all;
  }

  const float* kernel(const OpArgs& a, const Packed& packed, std::size_t p) const {
    const AttentionProjection& projection = projections_.all()[p];
    return projection.fused() ? packed.kernels[p] : a.weights[weights_.kernel_of(projection.roles.front())];
  }
  const float* bias(const OpArgs& a, const Packed& packed, std::size_t p) const {
    const AttentionProjection& projection = projections_.all()[p];
    if (!spec_.use_bias) return nullptr;
    return projection.fused() ? packed.biases[p] : a.weights[weights_.bias_of(projection.roles.front())];
  }
  float* gradient_of(const OpArgs& a, std::size_t weight) const {
    return trains_ ? a.weight_gradients[weight] : nullptr;
  }

  template <class T>
  AttentionRows<T> projected(const SavedTensors& saved_tensors, std::size_t role) const {
    const std::size_t p = projections_.place(role);
    return {saved_tensors.projected[p] + projections_.first(role), projections_.all()[p].columns};
  }
  kernels::cpu::AttentionInputs inputs_of(const OpArgs& a, const SavedTensors& saved_tensors) const {
    return {.shape = shape_,
            .rows = a.rows,
            .q = projected<const float>(saved_tensors, kQuery),
            .k = projected<const float>(saved_tensors, kKey),
            .v = projected<const float>(saved_tensors, kValue),
            .query_mask = mask(a, kQuery),
            .value_mask = mask(a, kValue),
            .key_mask = mask(a, kKey),
            .dropout = dropout<kernels::cpu::Dropout>(a)};
  }

  /// Writes the gradients of a projection's kernels, biases and inputs from that of its output.
  void differentiate(const OpArgs& a, std::size_t p, const float* gradient, const Scratch& own) {
    const AttentionProjection& projection = projections_.all()[p];
    InnerProduct& product = products_[p]->at(a.rows);
    void* const scratch = products_[p]->scratch(product, own.workspace);
    const float* const x = a.in(projection.inputs.front());
    if (!projection.fused()) {
      const std::size_t role = projection.roles.front();
      if (float* const of_kernel = gradient_of(a, weights_.kernel_of(role)))
        product.backward_weights(x, gradient, of_kernel,
                                 spec_.use_bias ? gradient_of(a, weights_.bias_of(role)) : nullptr, scratch);
    } else if (trains_) {
      product.backward_weights(x, gradient, own.kernel_gradient, spec_.use_bias ? own.bias_gradient : nullptr, scratch);
      for (std::size_t i = 0; i < projection.roles.size(); ++i) write_projection_gradient(a, projection, i, own);
    }
    write_input_gradient(a, p, gradient, scratch);
  }

  void write_projection_gradient(const OpArgs& a, const AttentionProjection& projection, std::size_t i,
                                 const Scratch& own) const {
    const std::size_t role = projection.roles[i];
    const std::int64_t first = projection.first[i], width = AttentionProjections::width_of(spec_, role);
    if (float* const of_kernel = gradient_of(a, weights_.kernel_of(role)))
      copy_columns({}, DType::kF32, own.kernel_gradient + first, projection.columns, of_kernel, width,
                   projection.features, width);
    if (!spec_.use_bias) return;
    if (float* const of_bias = gradient_of(a, weights_.bias_of(role)))
      kernels::cpu::copy({}, DType::kF32, own.bias_gradient + first, of_bias, width);
  }

  /// If a tensor is several inputs, the first gradient is the whole one and the others are zero.
  void write_input_gradient(const OpArgs& a, std::size_t p, const float* gradient, void* scratch) {
    const AttentionProjection& projection = projections_.all()[p];
    bool given = !wants_dx_[p];
    for (const std::size_t input : projection.inputs) {
      float* const dx = a.dx(input);
      if (dx == nullptr) continue;
      if (given)
        kernels::cpu::fill(0.0F, dx, a.rows * projection.steps * projection.features);
      else
        products_[p]->at(a.rows).backward_data(gradient, kernel(a, packed(a.packed), p), dx, scratch);
      given = true;
    }
  }

  CpuDevice& device_;
  std::int64_t out_;
  std::vector<std::unique_ptr<Products>> products_;
  std::unique_ptr<Products> output_;
  std::string implementation_;
};

const RegisteredOp kCpuAttention = op<nn::AttentionSpec, AttentionOp<nn::AttentionSpec>>(DeviceKind::kCpu);
const RegisteredOp kCpuAdditiveAttention =
    op<nn::AdditiveAttentionSpec, AttentionOp<nn::AdditiveAttentionSpec>>(DeviceKind::kCpu);
const RegisteredOp kCpuMultiHeadAttention = op<nn::MultiHeadAttentionSpec, MultiHeadAttentionOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
