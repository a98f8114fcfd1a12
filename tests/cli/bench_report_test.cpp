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

TEST(BenchReport, RowsOfAProcessAreReadBack) {
  session::BenchRow row = cpu_row(4, 2);
  row.processes = 2;
  row.global_batch = 64;
  row.examples_per_second = 1234.5;
  row.comm_exposed_ms = 0.25;
  const std::vector<session::BenchRow> rows = rows_of_json(bench_json({row}, "c.yaml", session::BenchData::kSynthetic));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].processes, 2);
  EXPECT_EQ(rows[0].replicas, 4);
  EXPECT_EQ(rows[0].threads, 2);
  EXPECT_EQ(rows[0].global_batch, 64);
  EXPECT_EQ(rows[0].examples_per_second, 1234.5);
  EXPECT_EQ(rows[0].comm_exposed_ms, 0.25);
  EXPECT_THROW(rows_of_json("{}"), Error);
  EXPECT_EQ(session::row_name(row), "2 x 4x2");
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
