#include "sweep/space.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/error.h"

namespace dptrain::sweep {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_parameter(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(Space, ReadsRanges) {
  const SweepParameter rate = parse_parameter("train.optimizer.learning_rate=1e-4..1e-2:log");
  EXPECT_EQ(rate.key, "train.optimizer.learning_rate");
  EXPECT_EQ(rate.kind, SweepParameter::Kind::kReal);
  EXPECT_TRUE(rate.log);
  EXPECT_DOUBLE_EQ(rate.low, 1e-4);
  EXPECT_DOUBLE_EQ(rate.high, 1e-2);
  const SweepParameter drop = parse_parameter("a=-0.5..0.5");
  EXPECT_FALSE(drop.log);
  EXPECT_EQ(drop.low, -0.5);
  for (const char* text : {"a=16..128:int:log", "a=16..128:log:int"}) {
    const SweepParameter units = parse_parameter(text);
    EXPECT_EQ(units.kind, SweepParameter::Kind::kWhole);
    EXPECT_TRUE(units.log);
  }
}

TEST(Space, ReadsChoices) {
  EXPECT_EQ(parse_parameter("a=adam,sgd").choices, (std::vector<std::string>{"adam", "sgd"}));
  EXPECT_EQ(parse_parameter("a=[16, 32],[32, 64], {SGD: {momentum: 0.9, nesterov: true}}").choices,
            (std::vector<std::string>{"[16, 32]", "[32, 64]", "{SGD: {momentum: 0.9, nesterov: true}}"}));
  EXPECT_EQ(parse_parameter("a='x, y',\"z\"").choices, (std::vector<std::string>{"'x, y'", "\"z\""}));
  EXPECT_EQ(parse_parameter("a=../data,b..c").choices, (std::vector<std::string>{"../data", "b..c"}));
  EXPECT_EQ(parse_parameter("a=b=c").choices, (std::vector<std::string>{"b=c"}));
}

TEST(Space, RejectsInvalidSpaces) {
  EXPECT_EQ(refusal("a"),
            "--vary a: expected a key and its values, as in train.optimizer.learning_rate=1e-4..1e-2:log");
  EXPECT_EQ(refusal("a="),
            "--vary a=: expected a key and its values, as in "
            "train.optimizer.learning_rate=1e-4..1e-2:log");
  EXPECT_EQ(refusal("a=1..x"), "--vary a=1..x: expected a number after the dots, as in 1e-4..1e-2:log, found 'x'");
  EXPECT_EQ(refusal("a=1..2:lgo"),
            "--vary a=1..2:lgo: expected :log, :int or both after a range, found ':lgo'; did you mean 'log'?");
  EXPECT_EQ(refusal("a=2..1"), "--vary a=2..1: the second number of a range must be larger than the first");
  EXPECT_EQ(refusal("a=0..1:log"), "--vary a=0..1:log: a range with :log must begin above 0");
  EXPECT_EQ(refusal("a=0.5..2:int"), "--vary a=0.5..2:int: a range with :int needs two whole numbers");
  EXPECT_EQ(refusal("a=1,,2"), "--vary a=1,,2: expected a value on both sides of each comma, as in adam,sgd");
  EXPECT_EQ(refusal("a=[1,2"), "--vary a=[1,2: a quote or bracket is not closed");
}

TEST(Space, DrawsDependOnSeedAndNumber) {
  const std::vector<SweepParameter> space{parse_parameter("a=1e-4..1e-2:log"), parse_parameter("b=1..6:int"),
                                          parse_parameter("c=x,y")};
  const Values third = draw(space, 7, 3);
  draw(space, 7, 2);
  EXPECT_EQ(draw(space, 7, 3), third);
  std::set<Values> all;
  for (std::int64_t number = 1; number <= 50; ++number) all.insert(draw(space, 7, number));
  EXPECT_EQ(all.size(), 50U);
  EXPECT_NE(draw(space, 8, 3), third);
  // A key's draws are independent of the other keys.
  EXPECT_EQ(draw({space[0]}, 7, 3)[0], third[0]);
}

TEST(Space, DrawsStayInTheRangeAndFillIt) {
  const std::vector<SweepParameter> space{parse_parameter("a=1e-4..1e-2:log"), parse_parameter("b=1..6:int"),
                                          parse_parameter("c=x,y"), parse_parameter("d=2..9:int:log"),
                                          parse_parameter("e=-1..3")};
  std::vector<std::set<std::string>> seen(space.size());
  int below_middle = 0;  // of a, on the logarithmic scale
  double sum = 0;        // of e
  constexpr int kDraws = 2000;
  for (int number = 1; number <= kDraws; ++number) {
    const Values values = draw(space, 1, number);
    for (std::size_t i = 0; i < values.size(); ++i) seen[i].insert(values[i]);
    const double a = std::stod(values[0]), e = std::stod(values[4]);
    EXPECT_GE(a, 1e-4);
    EXPECT_LE(a, 1e-2);
    EXPECT_GE(e, -1);
    EXPECT_LE(e, 3);
    below_middle += a < 1e-3 ? 1 : 0;
    sum += e;
  }
  EXPECT_EQ(seen[1], (std::set<std::string>{"1", "2", "3", "4", "5", "6"}));
  EXPECT_EQ(seen[2], (std::set<std::string>{"x", "y"}));
  EXPECT_EQ(seen[3], (std::set<std::string>{"2", "3", "4", "5", "6", "7", "8", "9"}));
  EXPECT_NEAR(below_middle, kDraws / 2, 150);  // more than six standard deviations
  EXPECT_NEAR(sum / kDraws, 1, 0.2);
}

TEST(Space, ValuesHaveFourDigits) {
  const std::vector<SweepParameter> space{parse_parameter("a=1e-4..1e-2:log")};
  for (std::int64_t number = 1; number <= 20; ++number) {
    const std::string value = draw(space, 3, number)[0];
    EXPECT_LE(value.size(), 9U) << value;
  }
  const Values narrow = draw({parse_parameter("a=0.1000001..0.1000002")}, 1, 1);
  EXPECT_GE(std::stod(narrow[0]), 0.1000001);
  EXPECT_LE(std::stod(narrow[0]), 0.1000002);
}

TEST(Space, GridCoversAllPoints) {
  const std::vector<SweepParameter> space{parse_parameter("a=1,2"), parse_parameter("b=x,y,z")};
  ASSERT_EQ(grid_size(space), 6);
  std::vector<Values> points;
  for (std::int64_t number = 1; number <= 6; ++number) points.push_back(grid_point(space, number));
  EXPECT_EQ(points, (std::vector<Values>{{"1", "x"}, {"1", "y"}, {"1", "z"}, {"2", "x"}, {"2", "y"}, {"2", "z"}}));
  EXPECT_FALSE(grid_size({parse_parameter("a=1..2")}));
}

}  // namespace
}  // namespace dptrain::sweep
