#include "nn/convolutions.h"

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/inner_product.h"
#include "backend/cpu/row_count_cache.h"
#include "backend/device.h"
#include "backend/ops/activations.h"

namespace dptrain::backend::cpu {
namespace {

/// Acts on the last axis; positions are rows times the axes before it. ReLU is applied in place like every epilogue,
/// because oneDNN's own turns NaN into 0.
class DenseOp final : public Op {
 public:
  DenseOp(const nn::DenseSpec& spec, const OpContext& context, Device& device)
      : device_(static_cast<CpuDevice&>(device)),
        in_(context.input(0).back()),
        units_(spec.units),
        positions_(context.input(0).elements() / in_),
        bias_(spec.use_bias),
        epilogue_(context),
        wants_dx_(context.wants_dx()),
        wants_dweights_(context.trains()) {
    if (device_.options().bfloat16_products) rounding_.emplace(in_ * units_, device_.dnnl());
    prepare(context.rows);
    implementation_ = products_.at(context.rows).name();
  }

  void prepare(std::int64_t rows) override { products_.prepare(rows); }
  plan::Need need() const override {
    return {.saved = 0, .scratch = products_.planned_scratch(), .packed = rounding_ ? rounding_->bytes() : 0};
  }
  std::string implementation() const override { return implementation_; }

  /// Rounds the kernel to bfloat16.
  void pack(const OpArgs& a) override { rounding_->run(a.weights[0], a.packed); }

  void forward(const OpArgs& a) override {
    InnerProduct& product = products_.at(a.rows);
    product.forward(a.in(), kernel(a), bias_ ? a.weights[1] : nullptr, a.out(), products_.scratch(product, a.scratch));
    epilogue_.apply({}, a.out(), a.rows);
  }

  void backward(const OpArgs& a) override {
    epilogue_.undo({}, a.out(), a.dy(), a.rows);
    InnerProduct& product = products_.at(a.rows);
    void* const scratch = products_.scratch(product, a.scratch);
    if (wants_dweights_ && a.weight_gradients[0] != nullptr)
      product.backward_weights(a.in(), a.dy(), a.weight_gradients[0], bias_ ? a.weight_gradients[1] : nullptr, scratch);
    if (wants_dx_ && a.dx() != nullptr) product.backward_data(a.dy(), kernel(a), a.dx(), scratch);
  }

  std::pair<double, double> flops_per_sample() const override {
    const double pass = 2.0 * static_cast<double>(positions_) * static_cast<double>(in_ * units_);
    return {pass, pass * (int{wants_dx_} + int{wants_dweights_})};
  }

 private:
  const void* kernel(const OpArgs& a) const { return rounding_ ? a.packed : a.weights[0]; }

  CpuDevice& device_;
  std::int64_t in_, units_, positions_;
  bool bias_;
  Epilogue epilogue_;
  bool wants_dx_, wants_dweights_;
  RowCountCache<InnerProduct> products_{[this](std::int64_t rows) {
    return InnerProduct(rows * positions_, in_, units_, bias_, wants_dx_, wants_dweights_, device_.dnnl(),
                        rounding_.has_value());
  }};
  std::optional<RoundedWeights> rounding_;
  std::string implementation_;
};

const RegisteredOp kCpuDense = op<nn::DenseSpec, DenseOp>(DeviceKind::kCpu, {.fuses = {fuses_activation()}});

}  // namespace
}  // namespace dptrain::backend::cpu
