#include "nn/merging.h"

#include <gtest/gtest.h>

#include "backend/fusion_examples.h"
#include "backend/merge_reference.h"

namespace dptrain::test {
namespace {

void check_add(const std::vector<Shape>& inputs, const Shape& out, nn::Activation epilogue = nn::Activation::kLinear) {
  Case c;
  c.layer = layer(nn::AddSpec{});
  c.inputs = inputs;
  c.tail = tail_of(epilogue);
  agrees(c, merged(inputs, out, std::plus<>()));
}

const FusionExample kAddActivation([] {
  Case c;
  c.layer = layer(nn::AddSpec{});
  c.inputs = {{3, 2, 5}, {3, 2, 5}};
  c.tail = tail_of(nn::Activation::kRelu);
  return c;
});

TEST(AddOp, Equal) { check_add({{3, 2, 5}, {3, 2, 5}}, {3, 2, 5}); }
TEST(AddOp, Three) { check_add({{7}, {7}, {7}}, {7}); }
TEST(AddOp, Relu) { check_add({{3, 2, 5}, {3, 2, 5}}, {3, 2, 5}, nn::Activation::kRelu); }
TEST(AddOp, Broadcast) {
  check_add({{3, 2, 5}, {1, 1, 5}}, {3, 2, 5});
  check_add({{5}, {3, 2, 5}}, {3, 2, 5});
  check_add({{3, 1, 5}, {1, 4, 1}, {3, 4, 5}}, {3, 4, 5});
}

}  // namespace
}  // namespace dptrain::test
