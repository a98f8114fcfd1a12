#include "nn/merging.h"

#include <gtest/gtest.h>

#include "backend/masked_merge.h"
#include "backend/merge_reference.h"

namespace dptrain::test {
namespace {

void check_multiply(const std::vector<Shape>& inputs, const Shape& out) {
  Case c;
  c.layer = layer(nn::MultiplySpec{});
  c.inputs = inputs;
  agrees(c, merged(inputs, out, std::multiplies<>()));
}

TEST(MultiplyOp, Equal) { check_multiply({{3, 2, 5}, {3, 2, 5}}, {3, 2, 5}); }
TEST(MultiplyOp, Three) { check_multiply({{7}, {7}, {7}}, {7}); }
TEST(MultiplyOp, Broadcast) {
  check_multiply({{3, 2, 5}, {1, 1, 5}}, {3, 2, 5});
  check_multiply({{3, 2, 1}, {3, 2, 5}}, {3, 2, 5});
  check_multiply({{1, 2, 1}, {3, 1, 5}}, {3, 2, 5});
  check_multiply({{4, 3, 2}, {2}, {1, 3, 1}}, {4, 3, 2});
}
TEST(MultiplyOp, IgnoresMaskedSteps) {
  check_masked_merge("Multiply", {10, 15, 0, 0, 3, -3}, {5, 10, 5, 6}, {2, 6, 0, 0}, false);
}

}  // namespace
}  // namespace dptrain::test
