// Bytes of passes, computed by hand, in float32 of 4 bytes.

#include "plan/traffic.h"

#include <gtest/gtest.h>

#include "nn/embedding.h"
#include "plan/plan_steps.h"
#include "plan/sample_models.h"

namespace dptrain::plan {
namespace {

using test::model_of;
using test::options_for;
using test::step_named;

constexpr const char* kModel = R"(
layers:
  - Input: {shape: [6, 6, 3]}
  - Conv2D: {name: conv, filters: 5, kernel_size: 3}
  - BatchNormalization: {name: norm}
  - MaxPooling2D: {name: pool, pool_size: 2}
  - Flatten
  - Dense: {name: dense, units: 7}
  - Dense: {name: out, units: 2, activation: softmax}
)";

class Bytes : public ::testing::Test {
 protected:
  double forward(const std::string& name, std::int64_t rows, std::uint64_t saved = 0) const {
    const Traffic traffic = forward_traffic(plan_, step_named(plan_, name), device_, rows, saved);
    EXPECT_EQ(traffic.bytes, traffic.set) << "each once";
    return traffic.bytes;
  }
  double backward(const std::string& name, std::int64_t rows, std::uint64_t saved = 0) const {
    return backward_traffic(plan_, step_named(plan_, name), device_, rows, saved).bytes;
  }

  const graph::Model model_ = model_of(kModel);
  const PlainCapabilities device_;
  const Plan plan_ = make_plan(model_, options_for("sparse_categorical_crossentropy"), device_);
};

constexpr double kFloat = 4;

TEST_F(Bytes, OfAConvolution) {
  // 6x6x3 in, 3x3x3x5 weights and 5 biases, 4x4x5 out.
  EXPECT_EQ(forward("conv", 1), kFloat * (108 + 135 + 5 + 80));
  EXPECT_EQ(forward("conv", 10), kFloat * (1080 + 140 + 800)) << "weights once";
  // The first layer reads its input and the output's gradient and writes the weights' gradients. It does not read the
  // weights, as the images need no gradient.
  EXPECT_EQ(backward("conv", 10), kFloat * (1080 + 800 + 140));
}

TEST_F(Bytes, OfABatchNormalization) {
  // In and out 4x4x5; gamma, beta and two statistics of 5.
  EXPECT_EQ(forward("norm", 3), kFloat * (240 + 240 + 20));
  // Its input, dy and dx; gamma and beta, and their gradients.
  EXPECT_EQ(backward("norm", 3), kFloat * (3 * 240 + 10 + 10));
}

TEST_F(Bytes, OfAPoolingWithItsSavedPositions) {
  // 4x4x5 in, 2x2x5 out, and a byte per output for the position of the maximum.
  EXPECT_EQ(forward("pool", 3, 60), kFloat * (240 + 60) + 60);
  EXPECT_EQ(backward("pool", 3, 60) - backward("pool", 3), 60);
}

TEST_F(Bytes, OfADense) {
  // 20 in, 7 out.
  EXPECT_EQ(forward("dense", 3), kFloat * (60 + 140 + 7 + 21));
  EXPECT_EQ(backward("dense", 3), kFloat * (60 + 21 + 60 + 147 + 147)) << "x, dy, dx, weights, their gradients";
}

TEST_F(Bytes, OfTheLoss) {
  // Two classes: predictions, their gradient and a label per row.
  EXPECT_EQ(loss_traffic(plan_, plan_.losses[0], 10).bytes, kFloat * (20 + 20 + 10));
  const Plan dense = make_plan(model_, options_for("mse", {}, nn::LabelKind::kDense), device_);
  EXPECT_EQ(loss_traffic(dense, dense.losses[0], 10).bytes, kFloat * (20 + 20 + 20));
}

TEST_F(Bytes, OfFlatPasses) {
  EXPECT_EQ(sum_traffic(100, 4).bytes, 1200) << "x, y, and y again";
  EXPECT_EQ(sum_traffic(100, 4).set, 800);
  const double trained = static_cast<double>(plan_.trainable_end), all = static_cast<double>(plan_.statistics_end);
  ASSERT_GT(all, trained);
  EXPECT_EQ(update_traffic(plan_, 0).bytes, kFloat * 3 * trained) << "weight, gradient; weight";
  EXPECT_EQ(update_traffic(plan_, 2).bytes, kFloat * 7 * trained);
  EXPECT_EQ(update_traffic(plan_, 2).set, kFloat * 4 * trained);
  EXPECT_EQ(all_reduce_traffic(plan_, 1).bytes, 0);
  EXPECT_EQ(all_reduce_traffic(plan_, 4).bytes, kFloat * 2 * all);
}

/// Reads the first weight of an Embedding by row.
class ByRow final : public Capabilities {
 public:
  std::optional<TailFusion> fuses(const Follower&) const override { return std::nullopt; }
  bool undoes(const Step&, const TailEntry&) const override { return false; }
  bool reads_rows(const config::Typed& layer, std::size_t weight) const override {
    return weight == 0 && layer.get_if<nn::EmbeddingSpec>() != nullptr;
  }
};

TEST(BytesOfAnEmbedding, CountOnlyTheRowsRead) {
  const graph::Model model = model_of(R"(
layers:
  - Input: {shape: [4], dtype: int32}
  - Embedding: {name: words, input_dim: 1000, output_dim: 8}
  - Flatten
  - Dense: {name: out, units: 2, activation: softmax}
)");
  const ByRow device;
  const Plan plan = make_plan(model, options_for("sparse_categorical_crossentropy"), device);
  const Step& words = step_named(plan, "words");
  // Ids, rows, output.
  EXPECT_EQ(forward_traffic(plan, words, device, 3, 0).bytes, 4.0 * (12 + 96 + 96));
  EXPECT_EQ(forward_traffic(plan, words, device, 1000, 0).bytes, 4.0 * (4000 + 8000 + 32000)) << "at most the table";
  // Ids, dy, and rows of the gradient; ids have no gradient.
  EXPECT_EQ(backward_traffic(plan, words, device, 3, 0).bytes, 4.0 * (12 + 96 + 96));
}

}  // namespace
}  // namespace dptrain::plan
