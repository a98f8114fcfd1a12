// --keep: its columns, and their names next to the answers.

#include "cli/passthrough_columns.h"

#include <gmock/gmock.h>

#include "core/error.h"

namespace dptrain::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(PassthroughColumns, AreListsOfNamesOrAll) {
  EXPECT_THAT(passthrough_columns({"age,kind", "\"last, first\""}).names, ElementsAre("age", "kind", "last, first"));
  EXPECT_FALSE(passthrough_columns({"age"}).all);
  EXPECT_TRUE(passthrough_columns({"all"}).all);
  EXPECT_FALSE(passthrough_columns({"\"all\",age"}).all);
  EXPECT_TRUE(passthrough_columns({}).names.empty());
}

TEST(PassthroughColumns, RejectInvalidLists) {
  const auto refusal = [](const std::vector<std::string>& lists) -> std::string {
    try {
      passthrough_columns(lists);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal({"age,kind", "age"}), HasSubstr("--keep: the column 'age' is listed twice"));
  EXPECT_THAT(refusal({"all,age"}), HasSubstr("--keep: all cannot be combined with other names"));
  EXPECT_THAT(refusal({""}), HasSubstr("--keep: found '', expected names of columns"));
  EXPECT_THAT(refusal({"\"age"}), HasSubstr("expected names of columns"));
}

TEST(PassthroughHeader, RenamesColumnsThatClashWithAnswers) {
  EXPECT_EQ(passthrough_header({"age", "last, first"}, "place,label,probability"), ",age,\"last, first\"");
  EXPECT_EQ(passthrough_header({"label", "place"}, "place,label"), ",input_label,input_place");
  EXPECT_EQ(passthrough_header({"label", "input_label"}, "place,label"), ",input_input_label,input_label");
  EXPECT_EQ(passthrough_header({}, "place,label"), "");
}

}  // namespace
}  // namespace dptrain::cli
