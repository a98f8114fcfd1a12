#include "config/family.h"

#include <gtest/gtest.h>

namespace dptrain::config {
namespace {

struct FamilyPear {};
struct FamilyApple {};
struct FamilyPlum {};

TEST(Family, SortsRegisteredMembersByName) {
  Family fruit("fruit");
  fruit.add_by_name(std::make_unique<TypeDef>(type_def<FamilyPlum>(Schema::of<FamilyPlum>("Plum"))));
  fruit.add_by_name(std::make_unique<TypeDef>(type_def<FamilyApple>(Schema::of<FamilyApple>("Apple"))));
  fruit.add_by_name(std::make_unique<TypeDef>(type_def<FamilyPear>(Schema::of<FamilyPear>("Pear"))));
  EXPECT_EQ(fruit.names(), (std::vector<std::string>{"Apple", "Pear", "Plum"}));
}

}  // namespace
}  // namespace dptrain::config
