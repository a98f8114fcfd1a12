// A ReLU propagates NaN, in every implementation of the layer with its ReLU.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/one_op.h"
#include "nn/activations.h"
#include "nn/convolutions.h"

namespace dptrain::test {
namespace {

/// With NaN in the middle value of the first of two samples, all its outputs at `position` are NaN and none of the
/// second sample's.
void check_nan(Case c, const std::string& what) {
  c.rows = 2;
  Data data = make_data(c);
  std::vector<double>& x = data.inputs[0].values;
  const std::int64_t channels = c.inputs[0].back();
  const std::int64_t positions = static_cast<std::int64_t>(x.size()) / 2 / channels;
  x[static_cast<std::size_t>(positions / 2 * channels)] = std::numeric_limits<double>::quiet_NaN();
  for (const DType type : {DType::kF32, DType::kBf16, DType::kF16})
    for (const auto& device : devices({.compute = type})) {
      SCOPED_TRACE(what + " on " + device->description());
      const std::vector<float> y = run(*device, c, data, true, Wanted::kAll).output;
      const std::size_t half = y.size() / 2;
      std::size_t found = 0;
      for (std::size_t i = 0; i < y.size(); ++i) {
        const bool nan = std::isnan(y[i]);
        found += nan ? 1 : 0;
        EXPECT_FALSE(nan && i >= half) << i;
      }
      const std::size_t outputs =
          c.layer.type() == typeid(nn::ReLUSpec) ? 1 : half / static_cast<std::size_t>(positions);
      EXPECT_GE(found, outputs) << "of " << half;
    }
}

TEST(RectifiedNaN, PassesConvolutions) {
  struct Shapes {
    const char* what;
    Size2 kernel;
    std::int64_t channels, filters;
  };
  for (const Shapes& s : {Shapes{"Winograd", {3, 3}, 32, 32}, Shapes{"GEMM", {1, 1}, 24, 40},
                          Shapes{"first layer", {3, 3}, 3, 16}, Shapes{"odd", {5, 3}, 5, 7}}) {
    nn::Conv2DSpec spec;
    spec.filters = s.filters;
    spec.kernel_size = s.kernel;
    spec.padding = nn::Padding::kSame;
    Case c;
    c.layer = layer(spec);
    c.inputs = {{9, 8, s.channels}};
    c.tail = tail_of(nn::Activation::kRelu);
    check_nan(c, s.what);
  }
}

TEST(RectifiedNaN, PassesDense) {
  nn::DenseSpec spec;
  spec.units = 17;
  Case c;
  c.layer = layer(spec);
  c.inputs = {{33}};
  c.tail = tail_of(nn::Activation::kRelu);
  check_nan(c, "Dense");
}

TEST(RectifiedNaN, PassesReLU) {
  Case c;
  c.layer = layer(nn::ReLUSpec{});
  c.inputs = {{5, 4, 3}};
  check_nan(c, "ReLU");
}

}  // namespace
}  // namespace dptrain::test
