#include "nn/pooling.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backend/harness.h"
#include "backend/net_run.h"

namespace dptrain::test {
namespace {

TEST(GlobalAveragePooling1DOp, IsTheMeanOverTheSteps) {
  for (const Shape& in : {Shape{4, 5}, Shape{1, 16}, Shape{7, 1}})
    for (const bool keepdims : {false, true}) {
      Case c;
      c.layer = layer(nn::GlobalAveragePooling1DSpec{keepdims});
      c.inputs = {in};
      agrees(c, [&](const std::vector<Tensor>& x, const std::vector<Tensor>&) {
        Tensor y(keepdims ? std::vector<std::int64_t>{x[0].dim(0), 1, in[1]}
                          : std::vector<std::int64_t>{x[0].dim(0), in[1]});
        for (std::size_t i = 0; i < x[0].values.size(); ++i) {
          const auto row = static_cast<std::int64_t>(i) / in.elements(), feature = static_cast<std::int64_t>(i) % in[1];
          y.values[static_cast<std::size_t>(row * in[1] + feature)] += x[0].values[i] / static_cast<double>(in[0]);
        }
        return y;
      });
    }
}

/// Dense is the identity and requires a gradient after the mask. A row without a valid step gives NaN, as in Keras.
TEST(GlobalAveragePooling1DOp, SkipsMaskedSteps) {
  graph::Model model = model_of(R"(
layers:
  - Input: {name: x, shape: [3, 2]}
  - Masking: {name: valid, mask_value: -1}
  - Dense: {name: same, units: 2, use_bias: false}
  - GlobalAveragePooling1D: {name: mean}
)");
  model.weights.front().values = {1, 0, 0, 1};
  const std::vector<float> x{1, 2, -1, -1, 3, 0.5F, -1, -1, 4, 8, -1, -1, -1, -1, -1, -1, -1, -1};
  const std::vector<float> means{2, 1.25F, 4, 8}, dy{1, 2, 3, 4, 5, 6};
  const std::vector<float> dx{0.5F, 1, 0, 0, 0.5F, 1, 0, 0, 3, 4, 0, 0};
  on_devices_in_all_types([&](backend::Device& device, double) {
    const NetRun found = Net(device, model, 3).run(x, dy);
    for (std::size_t i = 0; i < means.size(); ++i) EXPECT_EQ(found.tensors.at("mean")[i], means[i]) << i;
    EXPECT_TRUE(std::isnan(found.tensors.at("mean")[4]));
    for (std::size_t i = 0; i < dx.size(); ++i) EXPECT_EQ(found.tensors.at("d same")[i], dx[i]) << i;
  });
}

}  // namespace
}  // namespace dptrain::test
