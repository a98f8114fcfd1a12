#include "session/environment.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dptrain::session {
namespace {

TEST(Environment, DescribesTheProgram) {
  const nlohmann::json env = environment("abc");
  for (const char* key : {"dptrain", "git", "build", "libraries", "machine", "environment", "data_fingerprint", "time"})
    EXPECT_TRUE(env.contains(key)) << key;
  EXPECT_EQ(env["data_fingerprint"], "abc");
  EXPECT_GT(resident_bytes(), 1U << 20U);
  EXPECT_GE(peak_resident_bytes(), resident_bytes() / 2);
}

}  // namespace
}  // namespace dptrain::session
