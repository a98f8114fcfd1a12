// Layers with two float outputs on devices: with a gradient for each output or for one of them, and random numbers for
// each. On one replica and several, on the CPU and the emulated GPU.

#include "support/emu_op.h"  // before the headers that it configures

#include <gtest/gtest.h>

#include "core/random.h"
#include "distributed/connector.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cuda/dropout.h"
#include "kernels/cuda/pad.h"
#include "kernels/philox.h"
#include "runtime/small_net.h"
#include "support/halves.h"

namespace dptrain::test {

class CpuHalvesOp final : public backend::Op {
 public:
  CpuHalvesOp(const HalvesSpec&, const backend::OpContext& context, backend::Device&)
      : n_(context.input(0).elements()), low_(context.output(0).elements()) {}

  void forward(const backend::OpArgs& a) override {
    for (std::int64_t row = 0; row < a.rows; ++row) {
      const float* const x = a.in() + row * n_;
      std::copy(x, x + low_, a.out(0) + row * low_);
      std::copy(x + low_, x + n_, a.out(1) + row * (n_ - low_));
    }
  }
  void backward(const backend::OpArgs& a) override {
    for (std::int64_t row = 0; row < a.rows; ++row) {
      gather(a.dy(0), row, low_, a.dx() + row * n_);
      gather(a.dy(1), row, n_ - low_, a.dx() + row * n_ + low_);
    }
  }

 private:
  static void gather(const float* gradient, std::int64_t row, std::int64_t width, float* to) {
    if (gradient == nullptr)
      std::fill_n(to, width, 0.0F);
    else
      std::copy_n(gradient + row * width, width, to);
  }

  const std::int64_t n_, low_;
};

const backend::RegisteredOp kCpuHalves = backend::op<HalvesSpec, CpuHalvesOp>(backend::DeviceKind::kCpu);

/// Returns its input twice, each time with its own dropout: draws 0 and 1 of the layer.
struct TwoDropsSpec {};

const nn::Registered kTwoDrops =
    nn::layer<TwoDropsSpec>("TestTwoDrops")
        .inputs(1)
        .random()
        .outputs([](const TwoDropsSpec&, std::span<const nn::TensorDef> in) {
          return std::vector<nn::OutputDef>{{"first", in[0].shape, DType::kF32}, {"second", in[0].shape, DType::kF32}};
        });

constexpr float kDropRate = 0.5F;
constexpr std::uint64_t kDropSeed = 11;

/// The keys of both draws.
std::array<std::uint32_t, 2> drop_keys(const backend::OpContext& context) {
  const auto dropout = static_cast<std::uint32_t>(Purpose::kDropout);
  return {dropout + context.stream(0), dropout + context.stream(1)};
}

class CpuTwoDropsOp final : public backend::Op {
 public:
  CpuTwoDropsOp(const TwoDropsSpec&, const backend::OpContext& context, backend::Device&)
      : keys_(drop_keys(context)), seed_(context.seed), width_(context.output().elements()) {}

  void forward(const backend::OpArgs& a) override {
    for (std::size_t draw = 0; draw < keys_.size(); ++draw)
      kernels::cpu::dropout_forward({}, DType::kF32,
                                    {.rate = kDropRate,
                                     .seed = static_cast<std::uint32_t>(seed_),
                                     .layer = keys_[draw],
                                     .step = static_cast<std::uint64_t>(a.step),
                                     .first_row = a.first_row},
                                    a.in(), a.rows, width_, a.out(draw));
  }
  void backward(const backend::OpArgs&) override { throw Error(ErrorKind::kInternal, "no trainable inputs"); }

 private:
  const std::array<std::uint32_t, 2> keys_;
  const std::uint64_t seed_;
  const std::int64_t width_;
};

const backend::RegisteredOp kCpuTwoDrops = backend::op<TwoDropsSpec, CpuTwoDropsOp>(backend::DeviceKind::kCpu);

}  // namespace dptrain::test

namespace dptrain::backend::DPTRAIN_BACKEND {

class TestHalvesOp final : public GpuOp {
 public:
  TestHalvesOp(const test::HalvesSpec&, const OpContext& context, Device& device)
      : GpuOp(context, device), n_(context.input(0).elements()), low_(context.output(0).elements()) {}

  void forward(const OpArgs& a) override {
    kernel::copy_columns(at(a), type_, a.in(), n_, a.out(0), low_, a.rows, low_);
    kernel::copy_columns(at(a), type_, a.in() + low_, n_, a.out(1), n_ - low_, a.rows, n_ - low_);
  }
  void backward(const OpArgs& a) override {
    device_.fill(a.dx(), a.rows * n_, 0, *a.stream);
    if (a.dy(0) != nullptr) kernel::copy_columns(at(a), type_, a.dy(0), low_, a.dx(), n_, a.rows, low_);
    if (a.dy(1) != nullptr)
      kernel::copy_columns(at(a), type_, a.dy(1), n_ - low_, a.dx() + low_, n_, a.rows, n_ - low_);
  }

 private:
  const std::int64_t n_, low_;
};

class TestTwoDropsOp final : public GpuOp {
 public:
  TestTwoDropsOp(const test::TwoDropsSpec&, const OpContext& context, Device& device)
      : GpuOp(context, device),
        keys_(test::drop_keys(context)),
        seed_(context.seed),
        width_(context.output().elements()) {}

  void forward(const OpArgs& a) override {
    for (std::size_t draw = 0; draw < keys_.size(); ++draw)
      kernel::dropout_forward(at(a), type_,
                              {.rate = test::kDropRate,
                               .seed = static_cast<std::uint32_t>(seed_),
                               .layer = keys_[draw],
                               .first_row = a.first_row},
                              a.state, a.in(), a.rows, width_, a.out(draw));
  }
  void backward(const OpArgs&) override { throw Error(ErrorKind::kInternal, "no trainable inputs"); }

 private:
  const std::array<std::uint32_t, 2> keys_;
  const std::uint64_t seed_;
  const std::int64_t width_;
};

const RegisteredOp kTestHalves = op<test::HalvesSpec, TestHalvesOp>(kKind);
const RegisteredOp kTestTwoDrops = op<test::TwoDropsSpec, TestTwoDropsOp>(kKind);

}  // namespace dptrain::backend::DPTRAIN_BACKEND

namespace dptrain::distributed {
namespace {

using test::SampleBatch;

using DeviceNames = std::vector<std::string>;

/// Replicas with a model's weights.
struct PortReplicas {
  PortReplicas(const DeviceNames& devices, const graph::Model& model, const plan::PlanOptions& options,
               std::int64_t rows) {
    std::vector<std::unique_ptr<backend::Device>> all;
    for (const std::string& name : devices) all.push_back(test::device_of(name, static_cast<int>(all.size())));
    plan = plan::make_plan(model, options, *all.front());
    const int local_ranks = static_cast<int>(devices.size());
    connector = devices.front() == "cpu" ? make_local(local_ranks) : make_local_streams(local_ranks);
    set.emplace(plan, std::move(all), *connector,
                runtime::SetOptions{.weights = std::vector<double>(devices.size(), 1.0),
                                    .batch_sizes = {rows},
                                    .optimizer = test::value_of(nn::optimizer_family(), "SGD"),
                                    .seed = test::kDropSeed});
    set->push(model);
  }

  plan::Plan plan;
  std::unique_ptr<runtime::Connector> connector;
  std::optional<runtime::ReplicaSet> set;
};

class TwoPorts : public ::testing::TestWithParam<DeviceNames> {};

constexpr std::size_t kPortInputs = 4, kPortHidden = 5, kPortKinds = 3;
constexpr std::int64_t kPortRows = 7;
constexpr double kPortRate = 0.5;

/// tanh(x W + b), whose columns [begin, end) are multiplied by a second matrix, with softmax, cross-entropy and SGD, in
/// double and without halves.
struct PlainNet {
  std::size_t begin, end;
  std::vector<double> w, b, v;  ///< [kPortInputs, kPortHidden], [kPortHidden], [end - begin, kPortKinds]

  /// Returns the mean loss before the step.
  double step(const SampleBatch& batch) {
    const auto rows = static_cast<std::size_t>(batch.rows);
    std::vector<double> dw(w.size()), db(b.size()), dv(v.size());
    double loss = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      const float* const x = batch.inputs.data() + row * kPortInputs;
      const std::vector<double> h = hidden(x);
      std::vector<double> dz = softmax(h);
      const auto label = static_cast<std::size_t>(batch.labels[row]);
      loss -= std::log(dz[label]) / static_cast<double>(rows);
      dz[label] -= 1;
      for (double& d : dz) d /= static_cast<double>(rows);
      for (std::size_t i = begin; i < end; ++i) {
        double dh = 0;
        for (std::size_t k = 0; k < kPortKinds; ++k) {
          dh += dz[k] * v[(i - begin) * kPortKinds + k];
          dv[(i - begin) * kPortKinds + k] += dz[k] * h[i];
        }
        const double da = dh * (1 - h[i] * h[i]);
        db[i] += da;
        for (std::size_t j = 0; j < kPortInputs; ++j) dw[j * kPortHidden + i] += da * static_cast<double>(x[j]);
      }
    }
    learn(w, dw), learn(b, db), learn(v, dv);
    return loss;
  }

 private:
  std::vector<double> hidden(const float* x) const {
    std::vector<double> h = b;
    for (std::size_t i = 0; i < kPortHidden; ++i) {
      for (std::size_t j = 0; j < kPortInputs; ++j) h[i] += static_cast<double>(x[j]) * w[j * kPortHidden + i];
      h[i] = std::tanh(h[i]);
    }
    return h;
  }
  std::vector<double> softmax(const std::vector<double>& h) const {
    std::vector<double> p(kPortKinds);
    double sum = 0;
    for (std::size_t k = 0; k < kPortKinds; ++k) {
      for (std::size_t i = begin; i < end; ++i) p[k] += h[i] * v[(i - begin) * kPortKinds + k];
      sum += p[k] = std::exp(p[k]);
    }
    for (double& value : p) value /= sum;
    return p;
  }
  static void learn(std::vector<double>& values, const std::vector<double>& gradient) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] -= kPortRate * gradient[i];
  }
};

void append_values(std::vector<double>& to, const std::vector<float>& values) {
  to.insert(to.end(), values.begin(), values.end());
}

/// The net's weights: a kernel and a bias before the halves, and a matrix for each half that is read.
PlainNet plain_net(const graph::Model& model, std::size_t begin, std::size_t end) {
  PlainNet net{.begin = begin, .end = end, .w = {}, .b = {}, .v = {}};
  append_values(net.w, model.weights[0].values);
  append_values(net.b, model.weights[1].values);
  for (std::size_t i = 2; i < model.weights.size(); ++i) append_values(net.v, model.weights[i].values);
  return net;
}

void expect_training(const DeviceNames& devices, const char* text, std::size_t begin, std::size_t end) {
  graph::Model model = test::model_of(text);
  PlainNet plain = plain_net(model, begin, end);
  PortReplicas replicas(devices, model, test::options_for("sparse_categorical_crossentropy"), kPortRows);
  for (std::int64_t number = 0; number < 4; ++number) {
    const SampleBatch batch(kPortRows, kPortInputs, kPortKinds, static_cast<std::uint64_t>(number));
    const double loss = plain.step(batch);
    const runtime::StepSums sums =
        replicas.set->step(batch.view(), {.number = number, .learning_rate = kPortRate, .global_samples = kPortRows});
    EXPECT_NEAR(sums.loss / kPortRows, loss, 1e-5) << "step " << number;
  }
  replicas.set->pull(model);
  const PlainNet trained = plain_net(model, begin, end);
  const auto expect_near = [](const std::vector<double>& found, const std::vector<double>& expected, const char* what) {
    ASSERT_EQ(found.size(), expected.size()) << what;
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << what << " " << i;
  };
  expect_near(trained.w, plain.w, "kernel below");
  expect_near(trained.b, plain.b, "bias below");
  expect_near(trained.v, plain.v, "kernels above");
}

TEST_P(TwoPorts, TrainThroughBoth) {
  expect_training(GetParam(), R"(
layers:
  - Input: {name: x, shape: [4]}
  - Dense: {name: below, units: 5, activation: tanh}
  - TestHalves: {name: cut}
  - Dense: {name: left, units: 3, use_bias: false}
  - Dense: {name: right, inputs: cut.high, units: 3, use_bias: false}
  - Add: {name: sum, inputs: [left, right]}
  - Activation: {name: kind, activation: softmax}
)",
                  0, kPortHidden);
}

TEST_P(TwoPorts, TrainThroughTheFirstAlone) {
  expect_training(GetParam(), R"(
layers:
  - Input: {name: x, shape: [4]}
  - Dense: {name: below, units: 5, activation: tanh}
  - TestHalves: {name: cut}
  - Dense: {name: kind, inputs: cut.low, units: 3, use_bias: false, activation: softmax}
)",
                  0, 2);
}

TEST_P(TwoPorts, TrainThroughTheSecondAlone) {
  expect_training(GetParam(), R"(
layers:
  - Input: {name: x, shape: [4]}
  - Dense: {name: below, units: 5, activation: tanh}
  - TestHalves: {name: cut}
  - Dense: {name: kind, inputs: cut.high, units: 3, use_bias: false, activation: softmax}
)",
                  2, kPortHidden);
}

/// All inputs are ones, and the labels far below the outputs, so a zero kernel changes in one step by the mean of its
/// input over the rows.
struct OnesBatch {
  static constexpr std::int64_t kRows = 8, kWidth = 19;
  std::vector<float> ones = std::vector<float>(kRows * kWidth, 1.0F), labels = std::vector<float>(kRows, -100.0F);

  BatchView view() const {
    return {.rows = kRows,
            .inputs = {column(ones.data(), kWidth)},
            .labels = {column(labels.data(), 1), column(labels.data(), 1)}};
  }
};

/// Mean over the rows of dropout applied to one, from the definition of the draws (kernels/cuda/dropout.h).
float mean_factor(std::uint32_t stream, std::int64_t element, std::int64_t step) {
  float kept = 0;
  for (std::uint32_t row = 0; row < OnesBatch::kRows; ++row) {
    const kernels::PhiloxBlock words =
        kernels::philox4x32({{row, static_cast<std::uint32_t>(element / 4), static_cast<std::uint32_t>(step), 0}},
                            {{static_cast<std::uint32_t>(test::kDropSeed), stream}});
    if (kernels::philox_uniform(words.word[element % 4]) >= test::kDropRate) kept += 1 / (1 - test::kDropRate);
  }
  return kept / OnesBatch::kRows;
}

TEST_P(TwoPorts, DrawTheirOwnNumbers) {
  graph::Model model = test::model_of(R"(
layers:
  - Input: {name: x, shape: [19]}
  - TestTwoDrops: {name: drops}
  - Dense: {name: a, inputs: drops.first, units: 1, use_bias: false, kernel_initializer: zeros}
  - Dense: {name: b, inputs: drops.second, units: 1, use_bias: false, kernel_initializer: zeros}
outputs: [a, b]
)");
  plan::PlanOptions options = test::options_for("mae", {}, nn::LabelKind::kDense);
  options.objectives.push_back(options.objectives.front());
  options.objectives.back().output = 1;
  PortReplicas replicas(GetParam(), model, options, OnesBatch::kRows);
  const auto node = static_cast<std::uint32_t>(replicas.plan.steps.front().node);
  ASSERT_EQ(replicas.plan.steps.front().name, "drops");

  const OnesBatch batch;
  constexpr std::int64_t kStepNumber = 3;
  replicas.set->step(batch.view(), {.number = kStepNumber, .learning_rate = 1, .global_samples = OnesBatch::kRows});
  replicas.set->pull(model);
  ASSERT_EQ(model.weights.size(), 2U);
  for (std::uint32_t draw = 0; draw < 2; ++draw) {
    const std::uint32_t stream = static_cast<std::uint32_t>(Purpose::kDropout) + (node | draw << 24);
    for (std::int64_t i = 0; i < OnesBatch::kWidth; ++i)
      EXPECT_FLOAT_EQ(-model.weights[draw].values[static_cast<std::size_t>(i)], mean_factor(stream, i, kStepNumber))
          << "draw " << draw << ", element " << i;
  }
  EXPECT_NE(model.weights[0].values, model.weights[1].values);
}

INSTANTIATE_TEST_SUITE_P(Devices, TwoPorts,
                         ::testing::Values(DeviceNames{"cpu"}, DeviceNames{"cpu", "cpu", "cpu"}, DeviceNames{"emu:0"},
                                           DeviceNames{"emu:0", "emu:0", "emu:0"}, DeviceNames{"emu:0", "emu:1"}));

}  // namespace
}  // namespace dptrain::distributed
