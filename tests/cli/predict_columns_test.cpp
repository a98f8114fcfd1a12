// What predict writes of a sample beside its answers.

#include "cli/predict_columns.h"

#include <gtest/gtest.h>

namespace dptrain::cli {
namespace {

TEST(KeptHeader, NamesAreThoseOfTheFileUnlessAnAnswerHasThem) {
  EXPECT_EQ(kept_header({"age", "last, first"}, "place,label,probability"), ",age,\"last, first\"");
  EXPECT_EQ(kept_header({"label", "place"}, "place,label"), ",input_label,input_place");
  EXPECT_EQ(kept_header({"label", "input_label"}, "place,label"), ",input_input_label,input_label");
  EXPECT_EQ(kept_header({}, "place,label"), "");
}

}  // namespace
}  // namespace dptrain::cli
