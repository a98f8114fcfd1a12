// An op that reads a packed copy of its weights gives the bits of an op that reads the weights themselves, after any
// change of them. It packs once per change.

#include "support/emu_op.h"  // before the headers that it configures

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "distributed/connector.h"
#include "formats/checkpoint/checkpoint.h"
#include "formats/exporter.h"
#include "runtime/small_net.h"

namespace dptrain::test {

/// y = scale * x, with a factor for each element of a sample. `packed`: reads a copy of the factors in reverse order.
struct ScaleSpec {
  bool packed = false;
};

nn::Initializer about_one() { return nn::Initializer(nn::RandomUniform{.minval = 0.5, .maxval = 1.5}); }

const nn::Registered kTestScale =
    nn::layer<ScaleSpec>("TestScale")
        .key(nn::key("packed", &ScaleSpec::packed))
        .inputs(1)
        .output([](const ScaleSpec&, std::span<const Shape> in) { return in[0]; })
        .weights([](const ScaleSpec&, std::span<const Shape> in) {
          return std::vector<nn::WeightDef>{{.name = "scale", .shape = in[0], .initializer = about_one()}};
        })
        .backward_reads(nn::BackwardReads{.input = true});

/// Number of packed copies, of frozen and of other weights.
std::atomic<int> frozen_packs, trained_packs;

void count_pack(bool frozen) { ++(frozen ? frozen_packs : trained_packs); }

/// Factors, in reverse order if packed.
struct Factors {
  const float* values = nullptr;
  std::int64_t n = 0;
  bool reversed = false;

  float operator[](std::int64_t i) const { return values[reversed ? n - 1 - i : i]; }
};

/// Common properties of both ops.
struct ScaleShape {
  ScaleShape(const ScaleSpec& spec, const backend::OpContext& context)
      : packed(spec.packed), frozen(!context.step.parameter_gradients[0]), n(context.output().elements()) {}

  plan::Need need() const { return {.packed = packed ? static_cast<std::uint64_t>(n) * sizeof(float) : 0}; }
  Factors factors(const backend::OpArgs& a) const {
    return {.values = packed ? static_cast<const float*>(a.packed) : a.weights[0], .n = n, .reversed = packed};
  }

  bool packed, frozen;
  std::int64_t n;
};

class CpuScaleOp final : public backend::Op {
 public:
  CpuScaleOp(const ScaleSpec& spec, const backend::OpContext& context, backend::Device&) : shape_(spec, context) {}

  plan::Need need() const override { return shape_.need(); }
  void pack(const backend::OpArgs& a) override {
    count_pack(shape_.frozen);
    std::reverse_copy(a.weights[0], a.weights[0] + shape_.n, static_cast<float*>(a.packed));
  }
  void forward(const backend::OpArgs& a) override {
    const Factors factors = shape_.factors(a);
    for (std::int64_t i = 0; i < a.rows * shape_.n; ++i) a.out()[i] = a.in()[i] * factors[i % shape_.n];
  }
  void backward(const backend::OpArgs& a) override {
    const Factors factors = shape_.factors(a);
    for (std::int64_t i = 0; a.weight_gradients[0] != nullptr && i < shape_.n; ++i) {
      float sum = 0;
      for (std::int64_t row = 0; row < a.rows; ++row) sum += a.in()[row * shape_.n + i] * a.dy()[row * shape_.n + i];
      a.weight_gradients[0][i] = sum;
    }
    for (std::int64_t i = 0; a.dx() != nullptr && i < a.rows * shape_.n; ++i)
      a.dx()[i] = a.dy()[i] * factors[i % shape_.n];
  }

 private:
  const ScaleShape shape_;
};

const backend::RegisteredOp kCpuScale = backend::op<ScaleSpec, CpuScaleOp>(backend::DeviceKind::kCpu);

}  // namespace dptrain::test

namespace dptrain::kernels::DPTRAIN_BACKEND {

__global__ void pack_scale_kernel(const float* scale, std::int64_t n, float* packed) {
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) packed[n - 1 - i] = scale[i];
}

__global__ void scale_kernel(const float* x, std::int64_t elements, test::Factors factors, float* y) {
  for (std::int64_t i = thread_number(); i < elements; i += thread_count()) y[i] = x[i] * factors[i % factors.n];
}

__global__ void scale_gradient_kernel(const float* x, const float* dy, std::int64_t rows, std::int64_t n,
                                      float* gradient) {
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) {
    float sum = 0;
    for (std::int64_t row = 0; row < rows; ++row) sum += x[row * n + i] * dy[row * n + i];
    gradient[i] = sum;
  }
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND

namespace dptrain::backend::DPTRAIN_BACKEND {

class TestScaleOp final : public GpuOp {
 public:
  TestScaleOp(const test::ScaleSpec& spec, const OpContext& context, Device& device)
      : GpuOp(context, device), shape_(spec, context) {}

  plan::Need need() const override { return shape_.need(); }
  void pack(const OpArgs& a) override {
    test::count_pack(shape_.frozen);
    DPTRAIN_LAUNCH_FLAT(at(a), kernel::pack_scale_kernel, 1, 32, a.weights[0], shape_.n, static_cast<float*>(a.packed));
  }
  void forward(const OpArgs& a) override { scale(a, a.in(), a.out()); }
  void backward(const OpArgs& a) override {
    if (a.weight_gradients[0] != nullptr)
      DPTRAIN_LAUNCH_FLAT(at(a), kernel::scale_gradient_kernel, 1, 32, a.in(), a.dy<const float>(), a.rows, shape_.n,
                          a.weight_gradients[0]);
    if (a.dx() != nullptr) scale(a, a.dy(), a.dx());
  }

 private:
  void scale(const OpArgs& a, const float* x, float* y) const {
    DPTRAIN_LAUNCH_FLAT(at(a), kernel::scale_kernel, 1, 32, x, a.rows * shape_.n, shape_.factors(a), y);
  }

  const test::ScaleShape shape_;
};

const RegisteredOp kTestScale = op<test::ScaleSpec, TestScaleOp>(kKind);

}  // namespace dptrain::backend::DPTRAIN_BACKEND

namespace dptrain::distributed {
namespace {

using test::frozen_packs;
using test::SampleBatch;
using test::trained_packs;

constexpr std::int64_t kPackedWidth = 7, kPackedRows = 6;

graph::Model scaled_model(bool packed) {
  return test::model_of(fmt::format(R"(
layers:
  - Input: {{name: x, shape: [7]}}
  - TestScale: {{name: fixed, packed: {0}, trainable: false}}
  - Dense: {{name: hidden, units: 7, activation: tanh}}
  - TestScale: {{name: learned, packed: {0}}}
  - Dense: {{name: logits, units: 3, activation: softmax}}
)",
                                    packed));
}

/// Replicas of one of the two nets.
class Trained {
 public:
  Trained(const std::vector<std::string>& devices, bool packed, backend::Graphs graphs, std::int64_t accumulate)
      : model(scaled_model(packed)) {
    std::vector<std::unique_ptr<backend::Device>> all;
    for (const std::string& name : devices) all.push_back(test::device_of(name, static_cast<int>(all.size())));
    plan_ = test::small_plan(model, *all.front());
    const int local_ranks = static_cast<int>(devices.size());
    connector_ = devices.front() == "cpu" ? make_local(local_ranks) : make_local_streams(local_ranks);
    set_.emplace(plan_, std::move(all), *connector_,
                 runtime::SetOptions{.weights = std::vector<double>(devices.size(), 1.0),
                                     .accumulate_steps = accumulate,
                                     .batch_sizes = {kPackedRows},
                                     .optimizer = test::value_of(nn::optimizer_family(), "Adam"),
                                     .graphs = graphs});
  }

  /// Loss of a step, and whether its update was skipped. `bad`: the batch contains a NaN.
  std::pair<double, bool> step(bool bad = false) {
    SampleBatch batch(kPackedRows, kPackedWidth, 3, static_cast<std::uint64_t>(number_));
    if (bad) batch.inputs[3] = NAN;
    const runtime::StepSums sums =
        set_->step(batch.view(), {.number = number_++, .learning_rate = 0.05, .global_samples = kPackedRows});
    return {sums.loss, sums.update_skipped};
  }
  double evaluate() { return set_->evaluate(SampleBatch(kPackedRows, kPackedWidth, 3, 99).view()).loss; }
  std::vector<float> predict() {
    std::vector<float> all(kPackedRows * 3);
    set_->predict(SampleBatch(kPackedRows, kPackedWidth, 3, 98).view(), all.data());
    return all;
  }

  runtime::ReplicaSet& set() { return *set_; }
  graph::Model pulled() {
    graph::Model copy = model;
    set_->pull(copy);
    return copy;
  }
  bool replayed() {
    bool replayed = false;
    set_->on_each([&](int local_rank, runtime::Replica& replica) {
      if (local_rank == 0) replayed = replica.replayed();
    });
    return replayed;
  }

  const graph::Model model;

 private:
  plan::Plan plan_;
  std::unique_ptr<runtime::Connector> connector_;
  std::optional<runtime::ReplicaSet> set_;
  std::int64_t number_ = 0;
};

/// Runs the same operations on the net that packs and on the one that does not.
struct Pair {
  Trained packed, plain;

  explicit Pair(const std::vector<std::string>& devices, backend::Graphs graphs = backend::Graphs::kAuto,
                std::int64_t accumulate = 1)
      : packed(devices, true, graphs, accumulate), plain(devices, false, graphs, accumulate) {}

  template <class F>
  void both(const F& f) {
    f(packed), f(plain);
  }
  void expect_same_forward(const char* when) {
    EXPECT_EQ(packed.predict(), plain.predict()) << when;
    EXPECT_EQ(packed.evaluate(), plain.evaluate()) << when;
  }
  void expect_same_step(const char* when) {
    const double before = packed.evaluate();
    EXPECT_EQ(packed.step(), plain.step()) << when;
    EXPECT_NE(packed.evaluate(), before) << "the step changes nothing";
  }
  void expect_same_weights(const char* when) { EXPECT_EQ(test::distance(packed.pulled(), plain.pulled()), 0) << when; }
};

class PackedWeights : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(PackedWeights, FollowTheWeightsFromTheStartOn) {
  Pair nets(GetParam());
  nets.both([](Trained& net) { net.set().push(net.model); });
  nets.expect_same_forward("at the start");
  for (int i = 0; i < 6; ++i) {  // on one emulated GPU the last ones are recorded
    nets.expect_same_step("step by step");
    nets.expect_same_forward("after a step");
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(nets.packed.step(), nets.plain.step()) << "with nothing between two steps";
  EXPECT_EQ(nets.packed.replayed(), GetParam() == std::vector<std::string>{"emu:0"});
  nets.expect_same_forward("at the end");
  nets.expect_same_weights("at the end");
}

TEST_P(PackedWeights, FollowRestoredWeights) {
  Pair nets(GetParam());
  nets.both([](Trained& net) { net.set().push(net.model); });
  nets.both([](Trained& net) { net.step(), net.step(); });
  const graph::Model kept = nets.packed.pulled();
  const auto state = nets.packed.set().pull_state();
  nets.both([](Trained& net) { net.step(), net.step(), net.step(); });
  nets.both([](Trained& net) { EXPECT_TRUE(net.step(true).second) << "a step that is not finite is skipped"; });
  nets.expect_same_forward("after a skipped step");

  nets.both([&](Trained& net) {
    net.set().push(kept);
    net.set().push_state(state);
    net.set().push_loss_scale({});
  });
  nets.expect_same_forward("rolled back");
  nets.expect_same_step("rolled back");
  nets.expect_same_weights("rolled back");
}

TEST_P(PackedWeights, FollowACheckpoint) {
  Pair nets(GetParam());
  nets.both([](Trained& net) { net.set().push(net.model); });
  nets.both([](Trained& net) { net.step(), net.step(); });
  // A checkpoint of other weights, also of frozen ones.
  graph::Model other = nets.packed.pulled();
  for (graph::Weight& weight : other.weights)
    for (float& value : weight.values) value = 0.75F - value;
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("packed_weights_{}.h5", ::getpid())).string();
  formats::exporter_of(path).write(path, {.model = other});
  nets.both([&](Trained& net) {
    graph::Model loaded = net.model;
    formats::load_weights(path, loaded);
    net.set().push(loaded);
  });
  std::filesystem::remove(path);
  nets.expect_same_forward("loaded");
  nets.expect_same_step("loaded");
  nets.expect_same_weights("loaded");
}

TEST_P(PackedWeights, AreCopiedOnceForEachChange) {
  const int local_ranks = static_cast<int>(GetParam().size());
  Trained net(GetParam(), true, backend::Graphs::kAuto, 2);
  frozen_packs = trained_packs = 0;
  net.set().push(net.model);
  net.evaluate();
  net.predict();
  net.evaluate();
  EXPECT_EQ(frozen_packs, local_ranks);
  EXPECT_EQ(trained_packs, local_ranks);
  for (int i = 0; i < 3; ++i) net.step();  // two micro-batches each; the first step needs no copy
  net.evaluate();
  EXPECT_EQ(frozen_packs, local_ranks);
  EXPECT_EQ(trained_packs, 4 * local_ranks);
  net.set().push(net.model);
  net.step();
  EXPECT_EQ(frozen_packs, 2 * local_ranks);
  EXPECT_EQ(trained_packs, 5 * local_ranks);
}

TEST_P(PackedWeights, CountInTheMemoryOfAReplica) {
  Pair nets({GetParam().front()});
  std::size_t bytes[2] = {};
  const auto measure = [](Trained& net, std::size_t& to) {
    net.set().on_each([&](int, runtime::Replica& replica) { to = replica.bytes() - replica.memory().packed_bytes; });
  };
  measure(nets.packed, bytes[0]);
  measure(nets.plain, bytes[1]);
  EXPECT_EQ(bytes[0], bytes[1]);
  nets.packed.set().on_each(
      [](int, runtime::Replica& replica) { EXPECT_EQ(replica.memory().packed_bytes, 2U * 256U); });
}

INSTANTIATE_TEST_SUITE_P(Devices, PackedWeights,
                         ::testing::Values(std::vector<std::string>{"cpu"},
                                           std::vector<std::string>{"cpu", "cpu", "cpu"},
                                           std::vector<std::string>{"emu:0"},
                                           std::vector<std::string>{"emu:0", "emu:1"}));

}  // namespace
}  // namespace dptrain::distributed
