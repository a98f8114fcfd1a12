#pragma once

// InnerProduct: products of a matrix of rows with weights [in, units], and their gradients, for Dense, projections of
// attention, and inputs of recurrent layers. Belongs to one op and its thread; one object per number of rows
// (row_count_cache.h).
//
// oneDNN reads the weights as [in, units], as fast as its own layout without the reorder. kernels/cpu are used instead
// where they are faster:
// - Forward and gradient of the inputs for up to kFewRows rows read the weights once: 1.3 to 2.3 times as fast.
// - Gradients of large weights from few rows use non-temporal stores: 1.6 to 2.4 times.
// - Gradients of weights from many rows are packed (1.1 to 1.4 times) or read in place (processor_rules.h).
//
// In bfloat16, weights that an op packs (RoundedWeights) are rounded once per update, others in every call. Gradients
// of large weights from few rows remain float32, which is 1.3 to 2.3 times as fast as oneDNN's bfloat16.

#include <algorithm>
#include <optional>
#include <string>

#include "backend/cpu/dnnl_support.h"
#include "backend/cpu/processor_rules.h"
#include "kernels/cpu/few_rows.h"
#include "kernels/cpu/gemm_conv.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/parallel.h"

namespace dptrain::backend::cpu {

class InnerProduct {
 public:
  /// `rounded`: forward() and backward_data() read weights that are already in bfloat16.
  InnerProduct(std::int64_t positions, std::int64_t in, std::int64_t units, bool bias, bool wants_dx,
               bool wants_dweights, Dnnl& dnnl, bool rounded = false)
      : positions_(positions),
        in_(in),
        units_(units),
        one_thread_sums_(dnnl.one_thread_sums),
        factors_(dnnl.bfloat16_products ? DataType::bf16 : DataType::f32),
        x_(desc({positions, in}, Tag::ab)),
        weights_(desc({units, in}, Tag::ba)),
        bias_(bias ? desc({units}, Tag::a) : Desc()),
        y_(desc({positions, units}, Tag::ab)),
        x_factor_(desc({positions, in}, Tag::ab, factors_)),
        weights_factor_(desc({units, in}, Tag::ba, factors_)),
        dy_factor_(desc({positions, units}, Tag::ab, factors_)),
        read_weights_(rounded ? weights_factor_ : weights_) {
    const bool rounds = dnnl.bfloat16_products;
    const OneDnnlThread alone(one_thread_sums_);
    const auto pd = present(describe<dnnl::inner_product_forward>(dnnl, attributes(), dnnl::prop_kind::forward_training,
                                                                  x_factor_, weights_factor_, bias_, y_));
    const bool few_rows = !rounds && positions <= kernels::cpu::kFewRows;
    own_forward_ =
        few_rows && in * units >= kMinForwardWeights && (positions >= kRowsOfAnyWidth || units % kAligned == 0);
    own_data_ = few_rows && wants_dx && in * units >= kMinDataWeights;
    if (own_forward_)
      name_ = std::string("forward rows ") + kernels::cpu::isa_name();
    else
      make_forward(dnnl, pd, bias);
    if (own_data_)
      name_ += std::string("; data rows ") + kernels::cpu::isa_name();
    else if (wants_dx)
      make_data(dnnl, pd);
    if (!wants_dweights) return;
    if (own_gradient_is_faster(rounds))
      own_gradient_ = kernels::cpu::matrix_window(in, units);
    else
      make_weights(dnnl, pd, bias);
    if (own_gradient_)
      name_ += std::string("; weights ") + (rounds ? "of float32 gemm " : "gemm ") + kernels::cpu::isa_name();
  }

  std::size_t scratch() const {
    std::size_t bytes = 0;
    for (const auto* one : {&forward_, &data_, &weights_gradient_})
      if (*one) bytes = std::max(bytes, (*one)->scratch());
    if (!own_gradient_) return bytes;
    const auto floats = kernels::cpu::gemm_conv_backward_weights_workspace(*own_gradient_, positions_, threads_);
    return std::max(bytes, static_cast<std::size_t>(floats) * sizeof(float));
  }
  const std::string& name() const { return name_; }

  void forward(const float* x, const void* weights, const float* bias, float* y, void* scratch) {
    if (own_forward_)
      return kernels::cpu::rows_times_matrix(x, positions_, static_cast<const float*>(weights), bias, in_, units_, y);
    const OneDnnlThread alone(one_thread_sums_);
    forward_->run({{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_BIAS, bias}, {DNNL_ARG_DST, y}}, scratch);
  }
  void backward_data(const float* dy, const void* weights, float* dx, void* scratch) {
    if (own_data_)
      return kernels::cpu::rows_times_lines(dy, positions_, static_cast<const float*>(weights), in_, units_, dx);
    const OneDnnlThread alone(one_thread_sums_);
    data_->run({{DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DIFF_SRC, dx}}, scratch);
  }
  void backward_weights(const float* x, const float* dy, float* dweights, float* dbias, void* scratch) {
    if (own_gradient_) {
      if (kernels::cpu::thread_count() > threads_)
        throw Error(ErrorKind::kInternal, "an inner product made for fewer threads than run it");
      kernels::cpu::gemm_conv_backward_weights(*own_gradient_, x, dy, positions_, static_cast<float*>(scratch),
                                               dweights, dbias);
      return;
    }
    const OneDnnlThread alone(one_thread_sums_);
    weights_gradient_->run(
        {{DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_DIFF_WEIGHTS, dweights}, {DNNL_ARG_DIFF_BIAS, dbias}},
        scratch);
  }

 private:
  using ForwardDesc = dnnl::inner_product_forward::primitive_desc;

  void make_forward(Dnnl& dnnl, const ForwardDesc& pd, bool bias) {
    forward_ = job<dnnl::inner_product_forward>(dnnl, pd);
    forward_->reads(DNNL_ARG_SRC, x_, x_factor_);
    forward_->reads(DNNL_ARG_WEIGHTS, read_weights_, weights_factor_);
    if (bias) forward_->reads(DNNL_ARG_BIAS, bias_, bias_);
    forward_->writes(DNNL_ARG_DST, y_, y_);
    name_ =
        std::string(factors_ == DataType::bf16 ? "of bfloat16: forward dnnl " : "forward dnnl ") + pd.impl_info_str();
  }

  void make_data(Dnnl& dnnl, const ForwardDesc& hint) {
    const auto pd =
        present(describe_backward<dnnl::inner_product_backward_data>(dnnl, hint, x_, weights_factor_, dy_factor_));
    data_ = job<dnnl::inner_product_backward_data>(dnnl, pd);
    data_->reads(DNNL_ARG_DIFF_DST, y_, dy_factor_);
    data_->reads(DNNL_ARG_WEIGHTS, read_weights_, weights_factor_);
    data_->writes(DNNL_ARG_DIFF_SRC, x_, x_);
    name_ += std::string("; data dnnl ") + pd.impl_info_str();
  }

  void make_weights(Dnnl& dnnl, const ForwardDesc& hint, bool bias) {
    const auto pd = present(
        describe_backward<dnnl::inner_product_backward_weights>(dnnl, hint, x_factor_, weights_, bias_, dy_factor_));
    weights_gradient_ = job<dnnl::inner_product_backward_weights>(dnnl, pd);
    weights_gradient_->reads(DNNL_ARG_SRC, x_, x_factor_);
    weights_gradient_->reads(DNNL_ARG_DIFF_DST, y_, dy_factor_);
    weights_gradient_->writes(DNNL_ARG_DIFF_WEIGHTS, weights_, weights_);
    if (bias) weights_gradient_->writes(DNNL_ARG_DIFF_BIAS, bias_, bias_);
    name_ += std::string("; weights dnnl ") + pd.impl_info_str();
  }

  /// Whether kernels/cpu compute the gradient of the weights faster.
  bool own_gradient_is_faster(bool rounds) const {
    const std::int64_t weights = in_ * units_;
    const bool many_rows = positions_ >= kernels::cpu::kGemmConvManyWindows;
    if (weights >= kLargeWeights) return units_ % kAligned == 0 && !(many_rows && rounds);
    if (!many_rows || rounds) return false;
    if (weights >= kPackedWeights) return true;
    const bool by_processor = weights <= rules_for(kernels::cpu::this_processor()).in_place_weights;
    return (by_processor || positions_ >= kManyPositions) &&
           kernels::cpu::gemm_conv_reads_in_place(kernels::cpu::matrix_window(in_, units_));
  }

  template <class PrimitiveDesc>
  static PrimitiveDesc present(std::optional<PrimitiveDesc> pd) {
    if (!pd) throw Error(ErrorKind::kDevice, "oneDNN has no inner product for these shapes on this processor");
    return *std::move(pd);
  }
  template <class Primitive>
  static std::optional<Job> job(Dnnl& dnnl, const typename Primitive::primitive_desc& pd) try {
    return std::optional<Job>(std::in_place, dnnl, Primitive(pd), pd.scratchpad_desc());
  } catch (const dnnl::error& error) {
    throw device_error("inner product", error);
  }

  /// Floats of large weights; the units must be a multiple of kAligned for rows to start at cache lines.
  static constexpr std::int64_t kLargeWeights = 4 << 20, kAligned = 16;
  /// Minimum size of weights, in floats, for packing many rows.
  static constexpr std::int64_t kPackedWeights = 256 << 10;
  /// Minimum sizes of weights, in floats, for the kernels of few rows.
  static constexpr std::int64_t kMinForwardWeights = 16 << 10, kMinDataWeights = 128 << 10;
  /// With fewer rows, oneDNN's forward is faster (1.1 to 1.2 times) if rows of the weights do not start at cache lines.
  static constexpr std::int64_t kRowsOfAnyWidth = 3;
  /// Minimum number of positions (steps of a batch of sequences) for which the rules of a processor do not apply.
  static constexpr std::int64_t kManyPositions = 2048;

  std::int64_t positions_, in_, units_;
  bool own_forward_ = false, own_data_ = false;  // computed by kernels/cpu
  bool one_thread_sums_;                         // includes few rows, whose long sums oneDNN splits among threads
  int threads_ = kernels::cpu::thread_count();
  std::optional<kernels::ConvWindow> own_gradient_;  // computed by kernels/cpu
  DataType factors_;
  Desc x_, weights_, bias_, y_;                 // the caller's
  Desc x_factor_, weights_factor_, dy_factor_;  // the products'
  Desc read_weights_;
  std::optional<Job> forward_, data_, weights_gradient_;
  std::string name_;
};

/// Rounds the weights of one op to bfloat16, for InnerProducts that read them `rounded`.
class RoundedWeights {
 public:
  RoundedWeights(std::int64_t n, Dnnl& dnnl)
      : dnnl_(dnnl),
        from_(desc({n}, Tag::a), dnnl.engine, DNNL_MEMORY_NONE),
        to_(desc({n}, Tag::a, DataType::bf16), dnnl.engine, DNNL_MEMORY_NONE),
        reorder_(dnnl::reorder::primitive_desc(from_, to_)) {}

  std::size_t bytes() const { return to_.get_desc().get_size(); }
  void run(const float* weights, void* rounded) {
    from_.set_data_handle(const_cast<float*>(weights));  // oneDNN takes no const
    to_.set_data_handle(rounded);
    reorder_.execute(dnnl_.stream, from_, to_);
    dnnl_.stream.wait();
  }

 private:
  Dnnl& dnnl_;
  dnnl::memory from_, to_;
  dnnl::reorder reorder_;
};

}  // namespace dptrain::backend::cpu
