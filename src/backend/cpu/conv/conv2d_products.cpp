#include "backend/cpu/conv/conv_passes.h"

#include <utility>

#include "backend/cpu/dnnl_support.h"

namespace dptrain::backend::cpu {
namespace {

// oneDNN 2.6.3's AMX convolutions transpose both images themselves, and take 1.9 to 2.3 times as long as one matrix
// product (1x1, one thread, without the rounding).

/// The pixels of x that the strides select.
Desc strided_pixels(const ConvShape& s) {
  const std::int64_t line = s.in_w * s.in_channels;
  return {Dims{s.rows, s.out_h, s.out_w, s.in_channels}, DataType::f32,
          Dims{s.in_h * line, s.stride_h * line, s.stride_w * s.in_channels, 1}};
}

class ProductsConv final : public ConvPass {
 public:
  ProductsConv(Job job, bool one_thread) : job_(std::move(job)), one_thread_(one_thread) {}

  std::string name() const override { return "dnnl bf16 products nhwc"; }
  std::size_t scratch() const override { return job_.scratch(); }
  void run(const ConvTensors& t, void* scratch) override {
    const OneDnnlThread alone(one_thread_);
    job_.run({{DNNL_ARG_SRC, t.x},
              {DNNL_ARG_DIFF_DST, t.dy},
              {DNNL_ARG_DIFF_WEIGHTS, t.dweights},
              {DNNL_ARG_DIFF_BIAS, t.dbias}},
             scratch);
  }

 private:
  Job job_;
  bool one_thread_;
};

std::unique_ptr<ConvPass> make(const ConvShape& s, Dnnl& dnnl) {
  const std::int64_t pixels = s.rows * s.out_h * s.out_w;
  const Dims source{pixels, s.in_channels}, weights{s.out_channels, s.in_channels}, result{pixels, s.out_channels};
  const Desc bias = s.bias ? desc({s.out_channels}, Tag::a) : Desc();
  const Desc gathered = desc({s.rows, s.out_h, s.out_w, s.in_channels}, Tag::abcd, DataType::bf16);
  const Desc x = desc(source, Tag::ab, DataType::bf16), dy = desc(result, Tag::ab, DataType::bf16);
  const Desc dweights = desc(weights, Tag::ba);  // [in, out] in memory
  const auto hint =
      describe<dnnl::inner_product_forward>(dnnl, attributes(), dnnl::prop_kind::forward_training, x,
                                            desc(weights, Tag::ba, DataType::bf16), bias, desc(result, Tag::ab));
  if (!hint) return nullptr;
  const auto pd = describe_backward<dnnl::inner_product_backward_weights>(dnnl, *hint, x, dweights, bias, dy);
  if (!pd) return nullptr;
  Job job(dnnl, dnnl::inner_product_backward_weights(*pd), pd->scratchpad_desc());
  job.reads(DNNL_ARG_SRC, strided_pixels(s), gathered, x);
  job.reads(DNNL_ARG_DIFF_DST, desc(result, Tag::ab), dy);
  job.writes(DNNL_ARG_DIFF_WEIGHTS, dweights, dweights);
  if (s.bias) job.writes(DNNL_ARG_DIFF_BIAS, bias, bias);
  return std::make_unique<ProductsConv>(std::move(job), dnnl.one_thread_sums);
}

}  // namespace

bool fits_rounded_products(const ConvShape& s) {
  // Each output pixel reads one input pixel. oneDNN requires extent times stride of an axis to be at most the stride of
  // the axis before it.
  return s.one_pixel() && s.groups == 1 && s.pad_top == 0 && s.pad_left == 0 && s.out_h * s.stride_h <= s.in_h &&
         s.out_w * s.stride_w <= s.stride_h * s.in_w && (s.out_w - 1) * s.stride_w < s.in_w;
}

std::unique_ptr<ConvPass> make_products_conv(ConvPassKind kind, const ConvShape& shape, Dnnl& dnnl) try {
  if (kind != ConvPassKind::kBackwardWeights || !fits_rounded_products(shape) || shape.pool) return nullptr;
  const OneDnnlThread alone(dnnl.one_thread_sums);
  return make(shape, dnnl);
} catch (const dnnl::error& error) {
  throw device_error("convolution", error);
}

}  // namespace dptrain::backend::cpu
