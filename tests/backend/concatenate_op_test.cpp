#include "nn/merging.h"

#include <gtest/gtest.h>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

/// `axis` as in Keras, where the batch is axis 0.
void check_concatenate(int axis, const std::vector<Shape>& inputs) {
  Case c;
  c.layer = layer(nn::ConcatenateSpec{.axis = axis});
  c.inputs = inputs;
  const int along = axis < 0 ? inputs[0].rank() + axis : axis - 1;
  agrees(c, [&](const std::vector<Tensor>& in, const std::vector<Tensor>&) {
    std::int64_t outer = in[0].dim(0);
    for (int d = 0; d < along; ++d) outer *= inputs[0][d];
    Tensor y;
    for (std::int64_t o = 0; o < outer; ++o)
      for (const Tensor& x : in) {
        const auto width = static_cast<std::int64_t>(x.values.size()) / outer;
        y.values.insert(y.values.end(), x.values.begin() + o * width, x.values.begin() + (o + 1) * width);
      }
    return y;
  });
}

TEST(ConcatenateOp, Channels) { check_concatenate(-1, {{3, 2, 5}, {3, 2, 1}, {3, 2, 7}}); }
TEST(ConcatenateOp, Rows) { check_concatenate(1, {{2, 3, 4}, {5, 3, 4}}); }
TEST(ConcatenateOp, Vectors) { check_concatenate(1, {{7}, {4}}); }

}  // namespace
}  // namespace dptrain::test
