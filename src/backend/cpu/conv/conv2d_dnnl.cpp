#include "backend/cpu/conv/conv_passes.h"

#include "backend/cpu/dnnl_support.h"
#include "kernels/cpu/activation.h"

namespace dptrain::backend::cpu {
namespace {

/// The convolution in oneDNN's terms: logical order is NCHW and OIHW (GOIHW with groups) for any layout in memory.
struct Description {
  Dims source, weights, bias, destination, strides, dilates, pad_begin, pad_end;
  Tag weights_tag;

  Description(const ConvShape& s, DnnlWeights order)
      : source{s.rows, s.in_channels, s.in_h, s.in_w},
        weights{s.out_channels, s.in_channels, s.kernel_h, s.kernel_w},
        bias{s.out_channels},
        destination{s.rows, s.out_channels, s.out_h, s.out_w},
        strides{s.stride_h, s.stride_w},
        dilates{s.dilation_h - 1, s.dilation_w - 1},
        pad_begin{s.pad_top, s.pad_left},
        pad_end{s.pad_bottom, s.pad_right},
        weights_tag(order == DnnlWeights::kOhwi ? Tag::ohwi : Tag::hwio) {
    if (s.groups == 1) return;
    weights = {s.groups, s.out_channels / s.groups, s.in_channels / s.groups, s.kernel_h, s.kernel_w};
    weights_tag = Tag::hwigo;
  }
};

/// ReLU is a separate pass in place, because oneDNN's own turns NaN into 0.
class DnnlConv final : public ConvPass {
 public:
  /// `rectified`: number of output values that ReLU is applied to; 0: no ReLU.
  DnnlConv(std::string name, Job job, std::int64_t rectified, bool one_thread)
      : name_(std::move(name)), job_(std::move(job)), rectified_(rectified), one_thread_(one_thread) {}

  std::string name() const override { return name_; }
  std::size_t scratch() const override { return job_.scratch(); }

  void run(const ConvTensors& t, void* scratch) override {
    const OneDnnlThread alone(one_thread_);
    job_.run({{DNNL_ARG_SRC, t.x},
              {DNNL_ARG_WEIGHTS, t.weights},
              {DNNL_ARG_BIAS, t.bias},
              {DNNL_ARG_DST, t.y},
              {DNNL_ARG_DIFF_DST, t.dy},
              {DNNL_ARG_DIFF_SRC, t.dx},
              {DNNL_ARG_DIFF_WEIGHTS, t.dweights},
              {DNNL_ARG_DIFF_BIAS, t.dbias}},
             scratch);
    if (rectified_ > 0)
      kernels::cpu::activation_forward({}, DType::kF32, kernels::Activation::kRelu, 0, t.y, t.y, rectified_);
  }

 private:
  std::string name_;
  Job job_;
  std::int64_t rectified_;
  bool one_thread_;
};

/// Makes the passes of one convolution in one form.
class Maker {
 public:
  Maker(const ConvShape& shape, const DnnlForm& form, Dnnl& dnnl)
      : d_(shape, form.weights),
        rectified_(shape.relu ? shape.rows * shape.out_h * shape.out_w * shape.out_channels : 0),
        suffix_(form.layout == DnnlLayout::kNhwc ? " nhwc" : " blocked"),
        dnnl_(dnnl),
        images_(form.layout == DnnlLayout::kNhwc ? Tag::nhwc : Tag::any),
        factors_(form.bfloat16 ? DataType::bf16 : DataType::f32),
        have_source_(desc(d_.source, Tag::nhwc)),
        have_weights_(desc(d_.weights, d_.weights_tag)),
        have_destination_(desc(d_.destination, Tag::nhwc)),
        bias_(shape.bias ? desc(d_.bias, Tag::x) : Desc()) {}

  std::unique_ptr<ConvPass> forward() {
    const auto pd = describe<dnnl::convolution_forward>(
        dnnl_, attributes(), dnnl::prop_kind::forward_training, kAlgorithm, source(factors_), weights(factors_), bias_,
        destination(DataType::f32), d_.strides, d_.dilates, d_.pad_begin, d_.pad_end);
    if (!pd) return nullptr;
    Job job(dnnl_, dnnl::convolution_forward(*pd), pd->scratchpad_desc());
    job.reads(DNNL_ARG_SRC, have_source_, pd->src_desc());
    job.reads(DNNL_ARG_WEIGHTS, have_weights_, pd->weights_desc());
    if (has_bias()) job.reads(DNNL_ARG_BIAS, bias_, pd->bias_desc());
    job.writes(DNNL_ARG_DST, have_destination_, pd->dst_desc());
    return finish(*pd, std::move(job), rectified_);
  }

  std::unique_ptr<ConvPass> backward_data() {
    const auto hint = forward_hint();
    if (!hint) return nullptr;
    const auto pd = describe_backward<dnnl::convolution_backward_data>(
        dnnl_, *hint, kAlgorithm, source(DataType::f32), weights(factors_), destination(factors_), d_.strides,
        d_.dilates, d_.pad_begin, d_.pad_end);
    if (!pd) return nullptr;
    Job job(dnnl_, dnnl::convolution_backward_data(*pd), pd->scratchpad_desc());
    job.reads(DNNL_ARG_WEIGHTS, have_weights_, pd->weights_desc());
    job.reads(DNNL_ARG_DIFF_DST, have_destination_, pd->diff_dst_desc());
    job.writes(DNNL_ARG_DIFF_SRC, have_source_, pd->diff_src_desc());
    return finish(*pd, std::move(job));
  }

  std::unique_ptr<ConvPass> backward_weights() {
    const OneDnnlThread alone(dnnl_.one_thread_sums);
    const auto hint = forward_hint();
    if (!hint) return nullptr;
    const auto pd = describe_backward<dnnl::convolution_backward_weights>(
        dnnl_, *hint, kAlgorithm, source(factors_), weights(DataType::f32), bias_, destination(factors_), d_.strides,
        d_.dilates, d_.pad_begin, d_.pad_end);
    if (!pd) return nullptr;
    Job job(dnnl_, dnnl::convolution_backward_weights(*pd), pd->scratchpad_desc());
    job.reads(DNNL_ARG_SRC, have_source_, pd->src_desc());
    job.reads(DNNL_ARG_DIFF_DST, have_destination_, pd->diff_dst_desc());
    job.writes(DNNL_ARG_DIFF_WEIGHTS, have_weights_, pd->diff_weights_desc());
    if (has_bias()) job.writes(DNNL_ARG_DIFF_BIAS, bias_, pd->diff_bias_desc());
    return finish(*pd, std::move(job), 0, dnnl_.one_thread_sums);
  }

 private:
  static constexpr dnnl::algorithm kAlgorithm = dnnl::algorithm::convolution_direct;

  bool has_bias() const { return bias_ != Desc(); }
  // Layouts that the primitives read and write.
  Desc source(DataType type) const { return desc(d_.source, images_, type); }
  Desc weights(DataType type) const { return desc(d_.weights, Tag::any, type); }
  Desc destination(DataType type) const { return desc(d_.destination, images_, type); }

  /// oneDNN derives backward passes from a forward one; any implementation will do.
  std::optional<dnnl::convolution_forward::primitive_desc> forward_hint() {
    const auto any = [](const Dims& dims, DataType type) { return desc(dims, Tag::any, type); };
    return describe<dnnl::convolution_forward>(dnnl_, attributes(), dnnl::prop_kind::forward_training, kAlgorithm,
                                               any(d_.source, factors_), any(d_.weights, factors_), bias_,
                                               any(d_.destination, DataType::f32), d_.strides, d_.dilates, d_.pad_begin,
                                               d_.pad_end);
  }

  template <class PrimitiveDesc>
  std::unique_ptr<ConvPass> finish(const PrimitiveDesc& pd, Job job, std::int64_t rectified = 0,
                                   bool one_thread = false) {
    return std::make_unique<DnnlConv>(std::string("dnnl ") + pd.impl_info_str() + suffix_, std::move(job), rectified,
                                      one_thread);
  }

  Description d_;
  std::int64_t rectified_;
  const char* suffix_;
  Dnnl& dnnl_;
  Tag images_;
  DataType factors_;
  Desc have_source_, have_weights_, have_destination_;  // the caller's layouts
  Desc bias_;
};

}  // namespace

std::unique_ptr<ConvPass> make_dnnl_conv(ConvPassKind kind, const ConvShape& shape, const DnnlForm& form,
                                         Dnnl& dnnl) try {
  Maker maker(shape, form, dnnl);
  switch (kind) {
    case ConvPassKind::kForward: return maker.forward();
    case ConvPassKind::kBackwardData: return maker.backward_data();
    case ConvPassKind::kBackwardWeights: return maker.backward_weights();
  }
  return nullptr;
} catch (const dnnl::error& error) {
  throw device_error("convolution", error);
}

bool is_slow(const ConvPass& pass) {
  const std::string name = pass.name();
  const auto has = [&](const char* word) { return name.find(word) != std::string::npos; };
  return has("ref") || (has("gemm") && !has("brg"));
}

}  // namespace dptrain::backend::cpu
