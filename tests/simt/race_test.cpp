// ThreadSanitizer finds a missing barrier in a kernel, a shuffle in place of a barrier, and a shared address in a flat
// kernel, and no errors without them.

#include <gtest/gtest.h>

#include "support.h"
#include "support/sanitizer.h"

namespace dptrain::test {
namespace {

TEST(Race, CorrectKernelsAreClean) {
  const auto [code, text] = run_program("TSAN_OPTIONS=halt_on_error=0:exitcode=66 " DPTRAIN_BARRIER_right);
  EXPECT_EQ(code, 0) << text;
  EXPECT_EQ(text, "ran\n");
}

TEST(Race, PlantedRacesAreReported) {
  if (!kThreadSanitizer) GTEST_SKIP() << "needs a build with DPTRAIN_SANITIZE=thread";
  const auto [code, text] = run_program("TSAN_OPTIONS=halt_on_error=0:exitcode=66 " DPTRAIN_BARRIER_wrong);
  EXPECT_EQ(code, 66) << text;
  EXPECT_NE(text.find("WARNING: ThreadSanitizer: data race"), std::string::npos) << text;
  EXPECT_NE(text.find("reverse"), std::string::npos) << text;
  EXPECT_NE(text.find("accumulate"), std::string::npos) << text;
  EXPECT_NE(text.find("overlap"), std::string::npos) << text;
}

}  // namespace
}  // namespace dptrain::test
