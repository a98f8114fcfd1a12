#pragma once

// Checks of Multiply, Maximum and Minimum with masks, which merge only valid steps in Keras 3.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "backend/net_run.h"
#include "core/format.h"

namespace dptrain::test {

/// Three steps of two features: valid in both inputs ([2, 3] and [5, 5]), in none, and in one ([3, -3]). For the output
/// gradient 1 ... 6, checks the output and both input gradients at the first and last step. The second step has a zero
/// gradient except, if `first_stays`, in the first input.
inline void check_masked_merge(const std::string& type, const std::vector<float>& y, const std::vector<float>& plain,
                               const std::vector<float>& sums, bool first_stays) {
  for (const char* const order : {"[plain, sums]", "[sums, plain]"}) {
    SCOPED_TRACE(order);
    graph::Model model = model_of(fmt::format(R"(
layers:
  - Input: {{name: x, shape: [3, 2]}}
  - Dense: {{name: same, units: 2, use_bias: false}}
  - Masking: {{name: plain, inputs: same}}
  - Dense: {{name: sum, units: 2, use_bias: false, inputs: same}}
  - Masking: {{name: sums, inputs: sum}}
  - {}: {{name: merged, inputs: {}}}
  - Flatten: {{name: end}}
)",
                                              type, order));
    model.weights[0].values = {1, 0, 0, 1};
    model.weights[1].values = {1, 1, 1, 1};
    const std::vector<float> x{2, 3, 0, 0, 3, -3}, dy{1, 2, 3, 4, 5, 6};
    on_devices_in_all_types([&](backend::Device& device, double) {
      const NetRun found = Net(device, model, 1).run(x, dy);
      EXPECT_EQ(found.tensors.at("merged"), y);
      for (const auto& [name, d] : {std::pair{"plain", plain}, {"sums", sums}}) {
        const bool stays = first_stays && std::string(order).starts_with(fmt::format("[{}", name));
        const std::vector<float> all{d[0], d[1], stays ? 3.0F : 0.0F, stays ? 4.0F : 0.0F, d[2], d[3]};
        EXPECT_EQ(found.tensors.at(fmt::format("d {}", name)), all) << name;
      }
    });
  }
}

}  // namespace dptrain::test
