#include "nn/merging.h"

#include <gtest/gtest.h>

#include "backend/merge_reference.h"

namespace dptrain::test {
namespace {

void check_subtract(const std::vector<Shape>& inputs, const Shape& out) {
  Case c;
  c.layer = layer(nn::SubtractSpec{});
  c.inputs = inputs;
  agrees(c, merged(inputs, out, std::minus<>()));
}

TEST(SubtractOp, Equal) { check_subtract({{3, 2, 5}, {3, 2, 5}}, {3, 2, 5}); }
TEST(SubtractOp, Broadcast) {
  check_subtract({{3, 2, 5}, {1, 1, 5}}, {3, 2, 5});
  check_subtract({{5}, {3, 2, 5}}, {3, 2, 5});
  check_subtract({{3, 1, 5}, {1, 4, 1}}, {3, 4, 5});
}

}  // namespace
}  // namespace dptrain::test
