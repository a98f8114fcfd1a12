#include "nn/merging.h"

#include <gtest/gtest.h>

#include "backend/extreme_checks.h"
#include "backend/masked_merge.h"

namespace dptrain::test {
namespace {

using nn::MinimumSpec;

double smaller(double a, double b) { return a < b ? a : b; }

TEST(MinimumOp, Equal) { check_extreme<MinimumSpec>({{3, 2, 5}, {3, 2, 5}}, {3, 2, 5}, smaller); }
TEST(MinimumOp, Three) { check_extreme<MinimumSpec>({{7}, {7}, {7}}, {7}, smaller); }
TEST(MinimumOp, Broadcast) {
  check_extreme<MinimumSpec>({{3, 2, 5}, {1, 1, 5}}, {3, 2, 5}, smaller);
  check_extreme<MinimumSpec>({{5}, {3, 2, 5}}, {3, 2, 5}, smaller);
  check_extreme<MinimumSpec>({{3, 1, 5}, {1, 4, 1}, {3, 4, 5}}, {3, 4, 5}, smaller);
}
TEST(MinimumOp, TheFirstOfEqualsReceivesTheGradient) { check_ties<MinimumSpec>(-1); }
TEST(MinimumOp, PropagatesNaN) { check_nan<MinimumSpec>(); }
TEST(MinimumOp, IgnoresMaskedSteps) {
  check_masked_merge("Minimum", {2, 3, 0, 0, 3, -3}, {1, 2, 5, 6}, {0, 0, 0, 0}, true);
}

}  // namespace
}  // namespace dptrain::test
