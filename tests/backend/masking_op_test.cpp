#include "nn/reshaping.h"

#include <gtest/gtest.h>

#include "backend/net_run.h"

namespace dptrain::test {
namespace {

/// An identity Dense below requires a gradient.
graph::Model masking_model() {
  graph::Model model = model_of(R"(
layers:
  - Input: {name: x, shape: [3, 2]}
  - Dense: {name: same, units: 2, use_bias: false}
  - Masking: {name: valid, mask_value: -1}
  - Flatten: {name: end}  # of the mask, which no loss takes
)");
  model.weights.front().values = {1, 0, 0, 1};
  return model;
}

TEST(MaskingOp, MasksStepsWhoseFeaturesAllEqualTheValue) {
  const graph::Model model = masking_model();
  const std::vector<float> x{1, 2, -1, -1, -1, 0.5F, 0, 0, -1, -1, -1, -1};
  const std::vector<std::uint8_t> mask{1, 0, 1, 1, 0, 0};
  const std::vector<float> dy{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  on_devices_in_all_types([&](backend::Device& device, double) {
    const NetRun found = Net(device, model, 2).run(x, dy);
    EXPECT_EQ(found.masks.at("valid.mask"), mask);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(found.tensors.at("valid")[i], mask[i / 2] != 0 ? x[i] : 0.0F) << i;
      EXPECT_EQ(found.tensors.at("d same")[i], mask[i / 2] != 0 ? dy[i] : 0.0F) << i;
    }
  });
}

}  // namespace
}  // namespace dptrain::test
