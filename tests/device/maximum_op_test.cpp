#include "layers/maximum.h"

#include <gtest/gtest.h>

#include "device/extreme_checks.h"

namespace dptrain::test {
namespace {

using layers::MaximumSpec;

double larger(double a, double b) { return a > b ? a : b; }

TEST(MaximumOp, Equal) { check_extreme<MaximumSpec>({{3, 2, 5}, {3, 2, 5}}, {3, 2, 5}, larger); }
TEST(MaximumOp, Three) { check_extreme<MaximumSpec>({{7}, {7}, {7}}, {7}, larger); }
TEST(MaximumOp, Broadcast) {
  check_extreme<MaximumSpec>({{3, 2, 5}, {1, 1, 5}}, {3, 2, 5}, larger);
  check_extreme<MaximumSpec>({{5}, {3, 2, 5}}, {3, 2, 5}, larger);
  check_extreme<MaximumSpec>({{3, 1, 5}, {1, 4, 1}, {3, 4, 5}}, {3, 4, 5}, larger);
}
TEST(MaximumOp, TheFirstOfEqualsTakesTheGradient) { check_ties<MaximumSpec>(1); }
TEST(MaximumOp, NaNComesThrough) { check_nan<MaximumSpec>(); }

}  // namespace
}  // namespace dptrain::test
