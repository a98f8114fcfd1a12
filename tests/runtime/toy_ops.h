#pragma once

// The ops, the loss and the update of the toy device (toy_device.h). Sums in double; every gradient is overwritten.

#include <algorithm>
#include <cmath>

#include "backend/metric_op.h"
#include "nn/activations.h"
#include "nn/dropout.h"
#include "nn/merging.h"
#include "nn/metrics.h"
#include "nn/normalization.h"
#include "nn/optimizers.h"
#include "runtime/toy_device.h"

namespace dptrain::test {

/// Checks the contract of Op.
class ToyOp : public backend::Op {
 public:
  ToyOp(const backend::OpContext& context, backend::Device& device)
      : step_(context.step),
        device_(static_cast<ToyDevice&>(device)),
        rows_(context.rows),
        inputs_(context.step.inputs.empty() ? 0 : context.input(0).elements()),
        outputs_(context.output().elements()) {}

  /// Memory is planned before the first call and never again.
  void prepare(std::int64_t) override {
    if (called_) throw Error(ErrorKind::kInternal, "prepared after a call");
  }
  void forward(const backend::OpArgs& a) final {
    check(a, false);
    compute(a);
  }
  void backward(const backend::OpArgs& a) final {
    check(a, true);
    differentiate(a);
    // Gradients of other ops must not depend on these values after the call.
    std::fill_n(a.dy(), a.rows * outputs_, NAN);
  }

 protected:
  virtual void compute(const backend::OpArgs& a) = 0;
  virtual void differentiate(const backend::OpArgs& a) = 0;

  const plan::Step& step_;
  ToyDevice& device_;
  const std::int64_t rows_, inputs_, outputs_;

 private:
  void check(const backend::OpArgs& a, bool backward) {
    called_ = true;
    device_.visit(step_, a, backward);
    if (a.rows > rows_ || (a.rows == 0 && !runs_empty()))
      throw Error(ErrorKind::kInternal, fmt::format("called with {} rows, made for {}", a.rows, rows_));
  }

  bool called_ = false;
};

class ToyDense final : public ToyOp {
 public:
  ToyDense(const nn::DenseSpec& spec, const backend::OpContext& c, backend::Device& d)
      : ToyOp(c, d), bias_(spec.use_bias), relu_(!c.step.tail.empty()) {}

 protected:
  void compute(const backend::OpArgs& a) override {
    for (std::int64_t r = 0; r < a.rows; ++r)
      for (std::int64_t j = 0; j < outputs_; ++j) {
        double sum = bias_ ? a.weights[1][j] : 0;
        for (std::int64_t i = 0; i < inputs_; ++i)
          sum += double(a.in()[r * inputs_ + i]) * a.weights[0][i * outputs_ + j];
        const bool cut = relu_ && sum < 0;
        a.out()[r * outputs_ + j] = cut ? 0 : static_cast<float>(sum);
      }
  }
  void differentiate(const backend::OpArgs& a) override {
    if (relu_)
      for (std::int64_t k = 0; k < a.rows * outputs_; ++k)
        if (a.out()[k] <= 0) a.dy()[k] = 0;
    for (std::int64_t r = 0; a.input_gradients[0] != nullptr && r < a.rows; ++r)
      for (std::int64_t i = 0; i < inputs_; ++i) {
        double sum = 0;
        for (std::int64_t j = 0; j < outputs_; ++j)
          sum += double(a.dy()[r * outputs_ + j]) * a.weights[0][i * outputs_ + j];
        a.dx()[r * inputs_ + i] = static_cast<float>(sum);
      }
    for (std::int64_t i = 0; a.weight_gradients[0] != nullptr && i < inputs_; ++i)
      for (std::int64_t j = 0; j < outputs_; ++j)
        a.weight_gradients[0][i * outputs_ + j] = sum_over_rows(
            a, [&](std::int64_t r) { return double(a.in()[r * inputs_ + i]) * a.dy()[r * outputs_ + j]; });
    for (std::int64_t j = 0; bias_ && a.weight_gradients[1] != nullptr && j < outputs_; ++j)
      a.weight_gradients[1][j] = sum_over_rows(a, [&](std::int64_t r) { return double(a.dy()[r * outputs_ + j]); });
  }

 private:
  template <class F>
  static float sum_over_rows(const backend::OpArgs& a, const F& f) {
    double sum = 0;
    for (std::int64_t r = 0; r < a.rows; ++r) sum += f(r);
    return static_cast<float>(sum);
  }

  const bool bias_, relu_;
};

class ToyActivation final : public ToyOp {
 public:
  ToyActivation(const nn::ActivationSpec& spec, const backend::OpContext& c, backend::Device& d)
      : ToyOp(c, d), activation_(spec.activation) {}

 protected:
  void compute(const backend::OpArgs& a) override {
    for (std::int64_t r = 0; r < a.rows; ++r) row(a.in() + r * outputs_, a.out() + r * outputs_);
  }
  void differentiate(const backend::OpArgs& a) override {
    if (activation_ != nn::Activation::kTanh) throw Error(ErrorKind::kInternal, "the toy has no such gradient");
    for (std::int64_t k = 0; k < a.rows * outputs_; ++k) a.dx()[k] = a.dy()[k] * (1 - a.out()[k] * a.out()[k]);
  }

 private:
  void row(const float* x, float* y) const {
    if (activation_ == nn::Activation::kTanh) {
      std::transform(x, x + outputs_, y, [](float v) { return std::tanh(v); });
      return;
    }
    if (activation_ != nn::Activation::kSoftmax) throw Error(ErrorKind::kInternal, "the toy has no such activation");
    double sum = 0;
    for (std::int64_t j = 0; j < outputs_; ++j) sum += std::exp(x[j]);
    for (std::int64_t j = 0; j < outputs_; ++j) y[j] = static_cast<float>(std::exp(x[j]) / sum);
  }

  const nn::Activation activation_;
};

class ToyAdd final : public ToyOp {
 public:
  ToyAdd(const nn::AddSpec&, const backend::OpContext& c, backend::Device& d) : ToyOp(c, d) {}

 protected:
  void compute(const backend::OpArgs& a) override {
    for (std::int64_t k = 0; k < a.rows * outputs_; ++k) {
      float sum = 0;
      for (std::size_t i = 0; i < a.inputs.size(); ++i) sum += a.in(i)[k];
      a.out()[k] = sum;
    }
  }
  void differentiate(const backend::OpArgs& a) override {
    for (std::size_t i = 0; i < a.input_gradients.size(); ++i)
      if (a.dx(i) != nullptr) std::copy_n(a.dy(), a.rows * outputs_, a.dx(i));
  }
};

/// Keeps the elements with an even hash of index, seed, layer, step and row of the global batch, and doubles them.
class ToyDropout final : public ToyOp {
 public:
  ToyDropout(const nn::DropoutSpec&, const backend::OpContext& c, backend::Device& d)
      : ToyOp(c, d), key_(c.seed * 31 + c.stream_id) {}

 protected:
  void compute(const backend::OpArgs& a) override { apply(a, a.in(), a.out(), a.training); }
  void differentiate(const backend::OpArgs& a) override { apply(a, a.dy(), a.dx(), true); }

 private:
  void apply(const backend::OpArgs& a, const float* x, float* y, bool training) const {
    for (std::int64_t k = 0; k < a.rows * outputs_; ++k) {
      std::uint64_t h = key_ ^ static_cast<std::uint64_t>(a.step * 1000003 + a.first_row * outputs_ + k);
      h = (h ^ h >> 33) * 0xFF51AFD7ED558CCDU;
      y[k] = training ? ((h >> 40 & 1) == 0 ? 2 * x[k] : 0) : x[k];
    }
  }

  const std::uint64_t key_;
};

/// Without gamma and beta; optionally synchronized.
class ToyNorm final : public ToyOp {
 public:
  ToyNorm(const nn::BatchNormalizationSpec& spec, const backend::OpContext& c, backend::Device& d)
      : ToyOp(c, d), replicas_(spec.synchronized ? c.replicas : 1), epsilon_(spec.epsilon) {}

  plan::Need need() const override {
    return {.saved = 2 * bytes(), .scratch = bytes() * std::uint64_t(2 + 2 * replicas_)};
  }
  bool runs_empty() const override { return replicas_ > 1; }

 protected:
  void compute(const backend::OpArgs& a) override {
    float* mean = static_cast<float*>(a.saved);
    float* scale = mean + outputs_;
    if (a.training) moments(a, mean, scale);
    for (std::int64_t j = 0; j < outputs_; ++j) {
      const double m = a.training ? mean[j] : a.weights[0][j];
      const double v = a.training ? scale[j] : a.weights[1][j];
      if (a.training && a.weight_gradients[0] != nullptr) {
        a.weight_gradients[0][j] = static_cast<float>(a.share * m);
        a.weight_gradients[1][j] = static_cast<float>(a.share * v);
      }
      scale[j] = static_cast<float>(1 / std::sqrt(v + epsilon_));
      for (std::int64_t r = 0; r < a.rows; ++r)
        a.out()[r * outputs_ + j] = static_cast<float>((a.in()[r * outputs_ + j] - m) * scale[j]);
    }
  }
  void differentiate(const backend::OpArgs& a) override {
    if (a.input_gradients[0] == nullptr) return;
    const float* mean = static_cast<const float*>(a.saved);
    const float* scale = mean + outputs_;
    const auto normal = [&](std::int64_t r, std::int64_t j) { return (a.in()[r * outputs_ + j] - mean[j]) * scale[j]; };
    const std::vector<double> sums = sum_over_replicas(a, [&](std::int64_t r, std::int64_t j) {
      const double dy = a.dy()[r * outputs_ + j];
      return std::pair(dy, dy * normal(r, j));
    });
    for (std::int64_t r = 0; r < a.rows; ++r)
      for (std::int64_t j = 0; j < outputs_; ++j) {
        const std::int64_t k = r * outputs_ + j;
        const std::size_t c = static_cast<std::size_t>(2 * j);
        a.dx()[k] = static_cast<float>(scale[j] * (a.dy()[k] - (sums[c] + normal(r, j) * sums[c + 1]) / total_));
      }
  }

 private:
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(outputs_) * sizeof(float); }

  /// Mean and biased variance over the rows of all replicas.
  void moments(const backend::OpArgs& a, float* mean, float* variance) {
    float mine = static_cast<float>(a.rows);
    std::vector<float> all(std::size_t(replicas_), mine);
    if (replicas_ > 1) a.collective->all_gather(&mine, sizeof mine, all.data(), *a.stream);
    total_ = 0;
    for (const float rows : all) total_ += double(rows);
    const std::vector<double> sums = sum_over_replicas(a, [&](std::int64_t r, std::int64_t j) {
      const double x = a.in()[r * outputs_ + j];
      return std::pair(x, x * x);
    });
    for (std::int64_t j = 0; j < outputs_; ++j) {
      const double m = sums[std::size_t(2 * j)] / total_;
      mean[j] = static_cast<float>(m);
      variance[j] = static_cast<float>(sums[std::size_t(2 * j + 1)] / total_ - m * m);
    }
  }

  template <class F>
  std::vector<double> sum_over_replicas(const backend::OpArgs& a, const F& f) const {
    std::vector<double> sums(std::size_t(2 * outputs_));
    for (std::int64_t r = 0; r < a.rows; ++r)
      for (std::int64_t j = 0; j < outputs_; ++j) {
        const auto [x, y] = f(r, j);
        sums[std::size_t(2 * j)] += x;
        sums[std::size_t(2 * j + 1)] += y;
      }
    if (replicas_ == 1) return sums;
    float* mine = static_cast<float*>(a.scratch);
    float* all = mine + 2 * outputs_;
    std::transform(sums.begin(), sums.end(), mine, [](double v) { return static_cast<float>(v); });
    a.collective->all_gather(mine, 2 * outputs_ * std::int64_t{sizeof(float)}, all, *a.stream);
    std::fill(sums.begin(), sums.end(), 0.0);
    for (int rank = 0; rank < replicas_; ++rank)
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += double(all[std::size_t(rank) * sums.size() + c]);
    return sums;
  }

  const int replicas_;
  const double epsilon_;
  double total_ = 0;
};

inline std::optional<plan::TailFusion> toy_relu(const nn::ActivationSpec& behind, const plan::Follower& follower,
                                                const backend::Device&) {
  if (!follower.step.tail.empty() || behind.activation != nn::Activation::kRelu) return std::nullopt;
  return plan::TailFusion{.reads_output = true};
}

inline const backend::RegisteredOp kToyDense =
    backend::op<nn::DenseSpec, ToyDense>(kToy, {.fuses = {backend::fuses<nn::ActivationSpec>(toy_relu)}});
inline const backend::RegisteredOp kToyActivation = backend::op<nn::ActivationSpec, ToyActivation>(kToy);
inline const backend::RegisteredOp kToyAdd = backend::op<nn::AddSpec, ToyAdd>(kToy);
inline const backend::RegisteredOp kToyDropout = backend::op<nn::DropoutSpec, ToyDropout>(kToy);
inline const backend::RegisteredOp kToyNorm = backend::op<nn::BatchNormalizationSpec, ToyNorm>(kToy);

/// Softmax cross-entropy of class numbers, or the mean squared error of rows.
class ToyLoss final : public backend::LossOp {
 public:
  ToyLoss(const backend::LossContext& context, const ToyDevice& device) : loss_(context.loss), device_(device) {
    width_ = context.plan.tensors[static_cast<std::size_t>(loss_.prediction)].shape.elements();
  }
  void run(const backend::LossArgs& a) override {
    device_.check_readable(a.labels, a.rows);
    for (std::int64_t r = 0; r < a.rows; ++r) {
      const float* p = static_cast<const float*>(a.prediction) + r * width_;
      float* g = a.gradient == nullptr ? nullptr : static_cast<float*>(a.gradient) + r * width_;
      if (loss_.labels == nn::LabelKind::kClass)
        classify(p, static_cast<const std::int32_t*>(a.labels)[r], g, a);
      else
        regress(p, static_cast<const float*>(a.labels) + r * width_, g, a);
    }
  }

 private:
  void classify(const float* z, std::int32_t label, float* g, const backend::LossArgs& a) const {
    double sum = 0;
    for (std::int64_t j = 0; j < width_; ++j) sum += std::exp(double(z[j]));
    a.sums[0] += std::log(sum) - z[label];
    for (std::int64_t j = 0; g != nullptr && j < width_; ++j)
      g[j] = static_cast<float>((std::exp(double(z[j])) / sum - (j == label ? 1 : 0)) * a.gradient_scale);
  }
  void regress(const float* p, const float* y, float* g, const backend::LossArgs& a) const {
    for (std::int64_t j = 0; j < width_; ++j) {
      const double e = double(p[j]) - y[j];
      a.sums[0] += e * e / double(width_);
      if (g != nullptr) g[j] = static_cast<float>(2 * e / double(width_) * a.gradient_scale);
    }
  }

  const plan::LossStep& loss_;
  const ToyDevice& device_;
  std::int64_t width_ = 0;
};

/// Accuracy of class numbers: argmax equal.
class ToyAccuracy final : public backend::MetricOp {
 public:
  ToyAccuracy(const nn::AccuracySpec&, const backend::MetricContext& context, backend::Device&)
      : classes_(context.classes()) {}
  void run(const backend::MetricArgs& a) override {
    for (std::int64_t r = 0; r < a.rows; ++r) {
      const float* z = static_cast<const float*>(a.prediction) + r * classes_;
      *a.state += std::max_element(z, z + classes_) == z + a.classes[r] ? 1 : 0;
    }
  }

 private:
  const std::int64_t classes_;
};
inline const backend::RegisteredMetricOp kToyAccuracy = backend::metric_op<nn::AccuracySpec, ToyAccuracy>(kToy);

/// m = momentum m - lr (g + 2 l2 w); w += m. Statistics as documented.
class ToyUpdate final : public backend::Update {
 public:
  explicit ToyUpdate(const backend::UpdateContext& context)
      : plan_(context.plan), momentum_(static_cast<float>(context.optimizer.as<nn::SGDSpec>().momentum)) {}

  void run(const backend::UpdateBuffers& b, const backend::UpdateArgs& args, const kernels::StepState* state,
           backend::Stream&) override {
    if (state->step != args.step || state->learning_rate != args.learning_rate)
      throw Error(ErrorKind::kInternal, "the step or learning rate on the device differs");
    for (const plan::Parameter& p : plan_.parameters)
      for (std::int64_t i = p.offset; i < p.offset + p.elements(); ++i) {
        float& w = b.weights[i];
        if (p.kind == plan::ParameterKind::kStatistic)
          w = static_cast<float>(p.momentum * w + (1 - p.momentum) * b.gradients[i]);
        if (p.kind != plan::ParameterKind::kTrainable) continue;
        const float step = static_cast<float>(-args.learning_rate * (b.gradients[i] + 2 * p.penalty.l2 * w));
        if (b.slots.empty())
          w += step;
        else
          w += b.slots[0][i] = momentum_ * b.slots[0][i] + step;
      }
  }
  void penalty(const float* w, double* value, backend::Stream&) override {
    double sum = 0;
    for (const plan::Parameter& p : plan_.parameters)
      for (std::int64_t i = p.offset; i < p.offset + p.elements(); ++i) sum += p.penalty.l2 * w[i] * w[i];
    *value = sum;
  }

 private:
  const plan::Plan& plan_;
  const float momentum_;
};

inline std::unique_ptr<backend::LossOp> ToyDevice::make_loss(const backend::LossContext& context) {
  return std::make_unique<ToyLoss>(context, *this);
}
inline std::unique_ptr<backend::Update> ToyDevice::make_update(const backend::UpdateContext& context) {
  return std::make_unique<ToyUpdate>(context);
}

/// A fan-out, a shared layer, dropout and a penalty.
inline constexpr const char* kToyPlainModel = R"(
shared:
  twin: {Dense: {units: 5, activation: tanh, kernel_regularizer: {L2: 0.01}}}
layers:
  - Input: {name: x, shape: [2, 3]}
  - Flatten
  - Dense: {name: first, units: 5, activation: relu}
  - twin: {name: t1}
  - twin: {name: t2}
  - Add: {name: sum, inputs: [t2, first, t1]}
  - Dropout: {name: drop, rate: 0.5}
  - Dense: {name: logits, units: 3, activation: softmax}
)";

/// As above, with a shared synchronized normalization.
inline constexpr const char* kToyModel = R"(
shared:
  twin: {Dense: {units: 5, activation: tanh, kernel_regularizer: {L2: 0.01}}}
  norm: {BatchNormalization: {scale: false, center: false, momentum: 0.7, synchronized: true}}
layers:
  - Input: {name: x, shape: [2, 3]}
  - Flatten
  - Dense: {name: first, units: 5, activation: relu}
  - norm: {name: n1}
  - twin: {name: t1}
  - twin: {name: t2}
  - Add: {name: sum, inputs: [t2, n1, t1]}
  - norm: {name: n2}
  - Dropout: {name: drop, rate: 0.5}
  - Dense: {name: logits, units: 3, activation: softmax}
)";

}  // namespace dptrain::test
