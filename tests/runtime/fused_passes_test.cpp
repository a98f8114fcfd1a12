// Fused passes on the CPU device have the same bits as separate passes.

#include <gtest/gtest.h>

#include "backend/fusible_passes.h"
#include "runtime/arenas.h"
#include "runtime/sample_batch.h"

namespace dptrain::runtime {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)

/// A residual block: sums after convolutions, a normalization with ReLU, one with an addend, one after a strided
/// convolution, and one that two layers read.
constexpr const char* kBlock = R"(
layers:
  - Input: {name: image, shape: [9, 7, 16]}
  - Conv2D: {name: reduce, filters: 32, kernel_size: 1, use_bias: false}
  - BatchNormalization: {name: bn1, momentum: 0.9}
  - ReLU: {name: relu1}
  - Conv2D: {name: expand, filters: 48, kernel_size: 1}
  - BatchNormalization: {name: bn2, momentum: 0.9}
  - Conv2D: {name: shortcut, filters: 48, kernel_size: 1, inputs: relu1}
  - BatchNormalization: {name: bn3, momentum: 0.9}
  - Add: {name: add, inputs: [bn3, bn2]}
  - ReLU: {name: relu2}
  - Conv2D: {name: next, filters: 16, kernel_size: 1, activation: relu}
  - BatchNormalization: {name: bn4, momentum: 0.9}
  - Conv2D: {name: narrow, filters: 8, kernel_size: 1}
  - Conv2D: {name: strided, filters: 16, kernel_size: 1, strides: 2, inputs: relu2}
  - GlobalAveragePooling2D: {name: pool1, inputs: narrow}
  - GlobalAveragePooling2D: {name: pool2, inputs: strided}
  - Concatenate: {name: join, inputs: [pool1, pool2]}
  - Dense: {name: logits, units: 3, activation: softmax}
)";

class FusedPassesSink final : public GradientSink {
 public:
  void begin(std::int64_t, bool) override {}
  void bucket_ready(int, backend::Stream&) override {}
  void finish(backend::Stream&) override {}
};

/// Several chunks of sums each, and a view between a convolution and its normalization.
constexpr const char* kWide = R"(
layers:
  - Input: {name: image, shape: [8, 8, 16]}
  - Conv2D: {name: narrow, filters: 64, kernel_size: 1}
  - BatchNormalization: {name: bn1, momentum: 0.9}
  - Conv2D: {name: wide, filters: 256, kernel_size: 1}
  - BatchNormalization: {name: bn2, momentum: 0.9}
  - Conv2D: {name: last, filters: 32, kernel_size: 1}
  - Reshape: {name: view, target_shape: [16, 4, 32]}
  - BatchNormalization: {name: bn3, momentum: 0.9}
  - Reshape: {name: back, target_shape: [8, 16, 16]}
  - Conv2D: {name: end, filters: 16, kernel_size: 1}
  - GlobalAveragePooling2D: {name: pool}
  - Dense: {name: logits, units: 3, activation: softmax}
)";

struct FusedPassesOutcome {
  graph::Model model;
  std::vector<double> losses;
  int defers_last_pass = 0, epilogue = 0;
};

FusedPassesOutcome train_fused(const char* text, std::int64_t floats, bool fuse_passes, int threads,
                               std::int64_t rows) {
  FusedPassesOutcome outcome{.model = model_of(text), .losses = {}};
  const auto device = backend::make_cpu_device(0, threads, {});
  device->enter();
  const plan::Plan plan =
      plan::make_plan(outcome.model, options_for("sparse_categorical_crossentropy", {"accuracy"}), *device);
  FusedPassesSink sink;
  Replica replica(plan, *device, sink, nullptr,
                  {.rows = rows, .row_counts = {rows, 5}, .optimizer = sgd(), .seed = 5, .fuse_passes = fuse_passes});
  replica.arenas().push(outcome.model);
  const SampleBatch batch(rows, floats, 3);
  for (std::int64_t number = 0; number < 3; ++number)
    outcome.losses.push_back(
        replica.step({batch.view().sub(0, rows)}, {.number = number, .learning_rate = 0.1, .global_samples = rows})
            .loss);
  outcome.losses.push_back(replica.evaluate(batch.view().sub(0, 5)).loss);
  replica.arenas().pull(outcome.model);

  std::vector<std::unique_ptr<backend::Op>> ops;
  for (const plan::Step& step : plan.steps) ops.push_back(device->make_op({.plan = plan, .step = step, .rows = rows}));
  const backend::FusedPasses found = backend::fused_passes(plan, ops);
  outcome.defers_last_pass = static_cast<int>(std::ranges::count(found.defers_last_pass, true));
  outcome.epilogue = static_cast<int>(std::ranges::count(found.epilogue, true));
  return outcome;
}

TEST(FusedPasses, HaveTheBitsOfSeparatePasses) {
  struct Network {
    const char* text;
    std::int64_t floats, rows;
    int defers_last_pass, epilogue;
  };
  const Network networks[] = {
      // Prologues: bn1 of expand, the sum of next. Epilogues: of reduce, expand, shortcut, next.
      {kBlock, 9 * 7 * 16, 11, 2, 4},
      // Prologues: bn1 of wide, bn2 of last. Epilogues: of narrow, wide.
      {kWide, 8 * 8 * 16, 32, 2, 2},
  };
  for (const Network& c : networks)
    for (const int threads : {1, 3}) {
      SCOPED_TRACE(testing::Message() << c.rows << " rows, " << threads << " threads");
      const FusedPassesOutcome separate = train_fused(c.text, c.floats, false, threads, c.rows);
      const FusedPassesOutcome fused = train_fused(c.text, c.floats, true, threads, c.rows);
      EXPECT_EQ(fused.losses, separate.losses);
      for (std::size_t w = 0; w < separate.model.weights.size(); ++w)
        EXPECT_EQ(fused.model.weights[w].values, separate.model.weights[w].values) << w;
      EXPECT_EQ(fused.defers_last_pass, c.defers_last_pass);
      EXPECT_EQ(fused.epilogue, c.epilogue);
    }
}

}  // namespace
}  // namespace dptrain::runtime
