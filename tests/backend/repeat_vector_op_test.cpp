#include "nn/reshaping.h"

#include <gtest/gtest.h>

#include "backend/harness.h"

namespace dptrain::test {
namespace {

void check_repeat_vector(std::int64_t features, std::int64_t n) {
  Case c;
  c.layer = layer(nn::RepeatVectorSpec{.n = n});
  c.inputs = {{features}};
  agrees(c, [&](const std::vector<Tensor>& inputs, const std::vector<Tensor>&) {
    Tensor y = batch(inputs[0].dim(0), {n, features});
    for (std::int64_t row = 0; row < y.dim(0); ++row)
      for (std::int64_t k = 0; k < n; ++k)
        for (std::int64_t f = 0; f < features; ++f) y(row, k, f) = inputs[0](row, f);
    return y;
  });
}

TEST(RepeatVectorOp, Copies) {
  check_repeat_vector(5, 3);
  check_repeat_vector(16, 7);
  check_repeat_vector(1, 4);
}
TEST(RepeatVectorOp, Once) { check_repeat_vector(6, 1); }

}  // namespace
}  // namespace dptrain::test
