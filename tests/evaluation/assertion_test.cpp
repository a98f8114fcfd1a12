#include "evaluation/assertion.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"

namespace dptrain::evaluation {
namespace {

std::string refused_assertion(const std::function<void()>& f, ErrorKind kind = ErrorKind::kUsage) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  return "accepted";
}

TEST(Assertion, ReadsNameOperatorAndNumber) {
  const Assertion a = parse_assertion("val_accuracy>=0.90");
  EXPECT_EQ(a.name, "val_accuracy");
  EXPECT_EQ(a.comparison, Comparison::kAtLeast);
  EXPECT_DOUBLE_EQ(a.bound, 0.9);
  EXPECT_EQ(parse_assertion("loss<1e-3").comparison, Comparison::kBelow);
  EXPECT_EQ(parse_assertion("loss<=-2.5").bound, -2.5);
  EXPECT_EQ(parse_assertion(" loss == 0 ").comparison, Comparison::kEqual);
  EXPECT_EQ(parse_assertion(" loss == 0 ").text, "loss == 0");
  EXPECT_EQ(parse_assertion("n!=3").comparison, Comparison::kUnequal);
  EXPECT_EQ(parse_assertion("mae>2").comparison, Comparison::kAbove);
}

TEST(Assertion, NamesTheScoreOfAClass) {
  const Assertion a = parse_assertion("iou of stop sign>=0.5");
  EXPECT_EQ(a.name, "iou of stop sign");
  EXPECT_DOUBLE_EQ(a.bound, 0.5);
  EXPECT_NO_THROW(check_names({a}, {"loss"}, {"recall of road", "iou of stop sign"}));
  EXPECT_EQ(refused_assertion([&] { check_names({parse_assertion("iou of rod>=0.5")}, {"loss"}, {"iou of road"}); }),
            "--assert 'iou of rod>=0.5': there is no 'iou of rod' among loss and the scores of classes, such as "
            "'iou of road'; did you mean 'iou of road'?");
}

TEST(Assertion, RejectsInvalidConditions) {
  for (const char* wrong : {"", "accuracy", ">=0.9", "accuracy>=", "accuracy>=high", "accuracy=0.9", "accuracy=>0.9",
                            "a b>1", "accuracy>=0.9x", "accuracy>=nan", "accuracy>=0.9 0.8", "accuracy!0.9"})
    EXPECT_NE(refused_assertion([&] { parse_assertion(wrong); }).find("expected a metric, one of >= <= > < == !="),
              std::string::npos)
        << wrong;
}

TEST(Assertion, ComparesAtTheBound) {
  EXPECT_TRUE(parse_assertion("x>=0.9").holds(0.9));
  EXPECT_FALSE(parse_assertion("x>0.9").holds(0.9));
  EXPECT_TRUE(parse_assertion("x<=0.9").holds(0.9));
  EXPECT_FALSE(parse_assertion("x<0.9").holds(0.9));
  EXPECT_TRUE(parse_assertion("x==0.9").holds(0.9));
  EXPECT_FALSE(parse_assertion("x!=0.9").holds(0.9));
}

TEST(Assertion, IsFalseForNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const char* text : {"x>=0", "x<=0", "x>0", "x<0", "x==0"})
    EXPECT_FALSE(parse_assertion(text).holds(nan)) << text;
}

TEST(Assertion, ListsTheKnownNames) {
  const auto assertions = parse_assertions({"val_acuracy>=0.9"});
  EXPECT_EQ(refused_assertion([&] {
              check_names(assertions, {"loss", "accuracy", "val_loss", "val_accuracy"});
            }),
            "--assert 'val_acuracy>=0.9': there is no 'val_acuracy' among loss, accuracy, val_loss, val_accuracy; did "
            "you mean 'val_accuracy'?");
  EXPECT_NO_THROW(check_names(assertions, {"val_acuracy"}));
}

TEST(Assertion, ReportsAllFailures) {
  const auto assertions = parse_assertions({"loss<1", "accuracy>=0.9", "val_loss<1"});
  EXPECT_EQ(refused_assertion(
                [&] {
                  check(assertions, {{"loss", 0.5}, {"accuracy", 0.8812}});
                },
                ErrorKind::kCheck),
            "assertion 'accuracy>=0.9' failed: accuracy is 0.8812\n"
            "error: assertion 'val_loss<1' failed: the run ended before there was a val_loss");
  EXPECT_NO_THROW(check(assertions, {{"loss", 0.5}, {"accuracy", 0.9}, {"val_loss", 0.1}}));
}

}  // namespace
}  // namespace dptrain::evaluation
