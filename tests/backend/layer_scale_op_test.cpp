#include "nn/normalization.h"

#include <gtest/gtest.h>

#include "backend/harness.h"
#include "backend/one_op.h"

namespace dptrain::test {
namespace {

Case scaling(const Shape& in) {
  Case c;
  c.layer = layer(nn::LayerScaleSpec{.init_values = 0.5, .projection_dim = in.back()});
  c.inputs = {in};
  return c;
}

void check_layer_scale(const Shape& in, std::int64_t rows = 3) {
  Case c = scaling(in);
  c.rows = rows;
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>& weights) {
    Tensor y = inputs[0];
    for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] *= weights[0].values[i % weights[0].values.size()];
    return y;
  });
}

TEST(LayerScaleOp, Channels) {
  check_layer_scale({3, 4, 5});
  check_layer_scale({2, 3, 32});
  check_layer_scale({37});
  check_layer_scale({7, 1}, 5);
}

/// Long sums are split into pieces; the naive gradient is exact enough without central differences.
TEST(LayerScaleOp, LongSums) {
  for (const std::int64_t channels : {3, 40}) {
    Case c = scaling({90, 70, channels});
    c.rows = 5;
    const Data data = make_data(c);
    std::vector<double> expected(static_cast<std::size_t>(channels));
    for (std::size_t i = 0; i < data.inputs[0].values.size(); ++i)
      expected[i % expected.size()] += data.inputs[0].values[i] * data.output_gradient.values[i];
    for (const auto& device : devices()) {
      SCOPED_TRACE(device->description());
      const Outcome found = run(*device, c, data, true, Wanted::kAll);
      expect_close(found.weight_gradients[0], expected, 2e-5, "gradient of gamma");  // of sums that cancel
    }
  }
}

}  // namespace
}  // namespace dptrain::test
