#include "cli/bench_report.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/error.h"

namespace dptrain::cli {
namespace {

using ::testing::HasSubstr;

session::BenchRow cpu_row(int replicas, int threads) {
  session::BenchRow row;
  row.replicas = replicas;
  row.threads = threads;
  row.devices = {.replicas = replicas, .threads = threads};
  return row;
}

TEST(BenchReport, ABaselineThatIsNoneIsRefused) {
  const std::string path = (std::filesystem::temp_directory_path() / ("baseline-" + std::to_string(getpid()))).string();
  const std::string deep = "{\"rows\": " + std::string(200'000, '[') + std::string(200'000, ']') + "}";
  for (const std::string& text : {std::string(), std::string("[1"), std::string("{}"), deep}) {
    std::ofstream(path) << text;
    try {
      regressions(path, {cpu_row(1, 1)}, 0.03);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_THAT(error.what(), HasSubstr("not a bench.json"));
    }
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace dptrain::cli
