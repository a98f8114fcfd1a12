#include "core/class_names.h"

#include <gmock/gmock.h>

namespace dptrain {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ClassNames, BelongToTheirOutput) {
  ClassNames names;
  names.add("kind", {"cat", "dog"});
  names.add("size", {"large", "small"});
  names.add("price", {});
  EXPECT_EQ(names.entries().size(), 2U);
  EXPECT_THAT(names.names_of("size"), ElementsAre("large", "small"));
  EXPECT_THAT(names.names_of("price"), IsEmpty());
  EXPECT_THAT(names.names_of(""), IsEmpty());
  EXPECT_EQ(names.text(), "kind: cat, dog; size: large, small");
}

TEST(ClassNames, WithoutAnOutputApplyToAll) {
  const ClassNames names{"cat", "dog"};
  EXPECT_THAT(names.names_of("kind"), ElementsAre("cat", "dog"));
  EXPECT_FALSE(names.has_named_output());
  EXPECT_EQ(names.text(), "cat, dog");
}

TEST(ClassNames, DifferOnlyIfBothHaveSome) {
  ClassNames names, other;
  names.add("kind", {"cat", "dog"});
  other.add("size", {"large"});
  EXPECT_FALSE(names.differs_from(other));
  EXPECT_FALSE(names.differs_from({}));
  EXPECT_FALSE(names.differs_from({"cat", "dog"}));
  EXPECT_TRUE(names.differs_from({"dog", "cat"}));
  other.add("kind", {"dog"});
  EXPECT_TRUE(names.differs_from(other));
}

}  // namespace
}  // namespace dptrain
