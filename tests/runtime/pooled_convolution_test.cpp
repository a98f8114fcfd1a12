// A convolution with fused pooling trains and predicts like the separate steps.

#include <gtest/gtest.h>

#include "nn/convolutions.h"
#include "nn/pooling.h"
#include "plan/tail.h"
#include "runtime/arenas.h"
#include "runtime/replica.h"
#include "runtime/small_net.h"

namespace dptrain::runtime {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)

/// The device's capabilities, except for pooling.
class Pooling final : public plan::Capabilities {
 public:
  Pooling(const backend::Device& device, bool fuses) : device_(device), fuses_(fuses) {}
  std::optional<plan::TailFusion> fuses(const plan::Follower& follower) const override {
    if (follower.layer.get_if<nn::MaxPooling2DSpec>() == nullptr) return device_.fuses(follower);
    const bool takes = fuses_ && follower.step.spec.get_if<nn::Conv2DSpec>() != nullptr;
    return takes ? std::optional(plan::TailFusion{}) : std::nullopt;
  }
  bool undoes(const plan::Step& reader, const plan::TailEntry& last) const override {
    return device_.undoes(reader, last);
  }

 private:
  const backend::Device& device_;
  bool fuses_;
};

class NoSink final : public GradientSink {
 public:
  void begin(std::int64_t, bool) override {}
  void bucket_ready(int, backend::Stream&) override {}
  void finish(backend::Stream&) override {}
};

struct Trained {
  graph::Model model;
  std::vector<double> losses{};
  double evaluated = 0;
};

/// Input [9, 7, channels]: pooling omits the odd last row and column.
Trained train(bool fuses, int channels, const std::string& activation, bool bias) {
  constexpr std::int64_t kRows = 6;
  Trained trained{.model = model_of(fmt::format(R"(
layers:
  - Input: {{shape: [9, 7, {}]}}
  - Conv2D: {{filters: 20, kernel_size: 3, padding: same, activation: {}, use_bias: {}}}
  - MaxPooling2D
  - Conv2D: {{filters: 33, kernel_size: 3, padding: same, activation: relu}}
  - MaxPooling2D: {{pool_size: 2}}
  - Flatten
  - Dense: {{units: 3, activation: softmax}}
)",
                                                channels, activation, bias))};
  const auto device = backend::make_cpu_device(0, 1, {});
  device->enter();
  const plan::Plan plan = plan::make_plan(trained.model, options_for("sparse_categorical_crossentropy", {"accuracy"}),
                                          Pooling(*device, fuses));
  EXPECT_EQ(plan::tail_has<nn::MaxPooling2DSpec>(plan.steps[0]), fuses);
  NoSink sink;
  ReplicaOptions options{.rows = kRows, .row_counts = {kRows}, .seed = 5};
  options.optimizer = sgd();
  Replica replica(plan, *device, sink, nullptr, std::move(options));
  replica.arenas().push(trained.model);
  const SampleBatch batch(kRows, 9 * 7 * channels, 3);
  const BatchView slice = batch.view();
  for (int step = 0; step < 3; ++step)
    trained.losses.push_back(
        replica.step({slice}, {.number = step, .learning_rate = 0.05, .global_samples = kRows}).loss);
  trained.evaluated = replica.evaluate(slice).loss;
  replica.arenas().pull(trained.model);
  return trained;
}

TEST(PooledConvolution, TrainsAsConvolutionAndPooling) {
  for (const int channels : {1, 3, 18})
    for (const char* activation : {"relu", "linear"})
      for (const bool bias : {true, false}) {
        SCOPED_TRACE(fmt::format("{} channels, {}, {}", channels, activation, bias ? "bias" : "no bias"));
        const Trained apart = train(false, channels, activation, bias), fused = train(true, channels, activation, bias);
        for (std::size_t i = 0; i < apart.losses.size(); ++i)
          EXPECT_NEAR(fused.losses[i], apart.losses[i], 1e-5 * apart.losses[i]);
        EXPECT_NEAR(fused.evaluated, apart.evaluated, 1e-5 * apart.evaluated);
        EXPECT_LT(distance(fused.model, apart.model), 1e-5);
      }
}

}  // namespace
}  // namespace dptrain::runtime
