#include "nn/merging.h"

#include <gtest/gtest.h>

#include "backend/extreme_checks.h"
#include "backend/masked_merge.h"

namespace dptrain::test {
namespace {

using nn::MaximumSpec;

double larger(double a, double b) { return a > b ? a : b; }

TEST(MaximumOp, Equal) { check_extreme<MaximumSpec>({{3, 2, 5}, {3, 2, 5}}, {3, 2, 5}, larger); }
TEST(MaximumOp, Three) { check_extreme<MaximumSpec>({{7}, {7}, {7}}, {7}, larger); }
TEST(MaximumOp, Broadcast) {
  check_extreme<MaximumSpec>({{3, 2, 5}, {1, 1, 5}}, {3, 2, 5}, larger);
  check_extreme<MaximumSpec>({{5}, {3, 2, 5}}, {3, 2, 5}, larger);
  check_extreme<MaximumSpec>({{3, 1, 5}, {1, 4, 1}, {3, 4, 5}}, {3, 4, 5}, larger);
}
TEST(MaximumOp, TheFirstOfEqualsReceivesTheGradient) { check_ties<MaximumSpec>(1); }
TEST(MaximumOp, PropagatesNaN) { check_nan<MaximumSpec>(); }
TEST(MaximumOp, IgnoresMaskedSteps) {
  check_masked_merge("Maximum", {5, 5, 0, 0, 3, -3}, {0, 0, 5, 6}, {1, 2, 0, 0}, true);
}

}  // namespace
}  // namespace dptrain::test
