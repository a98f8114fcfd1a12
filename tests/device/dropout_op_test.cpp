#include "layers/dropout.h"

#include <gtest/gtest.h>

#include "device/dropout_reference.h"

namespace dptrain::test {
namespace {

void check_dropout(float rate, const Shape& in) {
  Case c;
  c.layer = layer(layers::DropoutSpec{.rate = rate});
  c.inputs = {in};
  c.inference = [](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) { return inputs[0]; };
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    Tensor y = inputs[0];
    const std::int64_t width = in.elements();
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      y.values[i] *= dropout_factor(static_cast<double>(rate), at / width, at % width);
    }
    return y;
  });
}

TEST(DropoutOp, Rates) {
  check_dropout(0.5F, {3, 5, 7});
  check_dropout(0.2F, {129});
}
TEST(DropoutOp, NothingToDrop) { check_dropout(0.0F, {5}); }

}  // namespace
}  // namespace dptrain::test
