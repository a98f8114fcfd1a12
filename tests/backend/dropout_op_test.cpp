#include "nn/dropout.h"

#include <gtest/gtest.h>

#include "backend/dropout_reference.h"

namespace dptrain::test {
namespace {

void check_dropout(float rate, const Shape& in) {
  Case c;
  c.layer = layer(nn::DropoutSpec{.rate = rate});
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
/// One draw for elements that share it by noise_shape: its position in [rows or 1, numbers].
void check_noise_shape(const nn::NoiseShape& noise, const Shape& in) {
  Case c;
  c.layer = layer(nn::DropoutSpec{.rate = 0.4F, .noise_shape = noise});
  c.inputs = {in};
  c.inference = [](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) { return inputs[0]; };
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    Tensor y = inputs[0];
    const std::int64_t width = in.elements();
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      std::int64_t number = 0, numbers = 1, rest = at % width;
      for (int axis = in.rank() - 1; axis >= 0; --axis) {
        const std::int64_t index = rest % in[axis],
                           extent = noise.extents[static_cast<std::size_t>(axis) + 1].value_or(in[axis]);
        rest /= in[axis];
        number += extent == 1 ? 0 : index * numbers;
        numbers *= extent;
      }
      const std::int64_t row = noise.extents[0] ? -kFirstRow : at / width;  // the first of the whole data
      y.values[i] *= dropout_factor(static_cast<double>(0.4F), row, number);
    }
    return y;
  });
}

TEST(DropoutOp, NoiseShapes) {
  check_noise_shape({{std::nullopt, 1, std::nullopt}}, {6, 19});
  check_noise_shape({{std::nullopt, 6, 1}}, {6, 19});
  check_noise_shape({{std::nullopt, std::nullopt, 1, 4, 1}}, {3, 5, 4, 7});
  check_noise_shape({{std::nullopt, 1, 5, 1, 3}}, {2, 5, 4, 3});
  check_noise_shape({{1, std::nullopt, std::nullopt}}, {3, 8});
  check_noise_shape({{1, 1, 8}}, {3, 8});
  check_noise_shape({{std::nullopt, 3, 8}}, {3, 8});  // a draw per element
}

TEST(DropoutOp, RateZero) { check_dropout(0.0F, {5}); }

}  // namespace
}  // namespace dptrain::test
