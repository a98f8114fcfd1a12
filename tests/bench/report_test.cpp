#include "bench/report.h"

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/error.h"

namespace dptrain::bench {
namespace {

using ::testing::HasSubstr;

BenchRow cpu_row(int replicas, int threads) {
  BenchRow row;
  row.replicas = replicas;
  row.threads = threads;
  row.devices = {.replicas = replicas, .threads = threads};
  return row;
}

TEST(BenchReport, ReadsBackRowsOfAProcess) {
  BenchRow row = cpu_row(4, 2);
  row.processes = 2;
  row.global_batch = 64;
  row.examples_per_second = 1234.5;
  row.comm_exposed_ms = 0.25;
  const std::vector<BenchRow> rows = rows_of_json(bench_json({row}, "c.yaml", BenchData::kSynthetic));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].processes, 2);
  EXPECT_EQ(rows[0].replicas, 4);
  EXPECT_EQ(rows[0].threads, 2);
  EXPECT_EQ(rows[0].global_batch, 64);
  EXPECT_EQ(rows[0].examples_per_second, 1234.5);
  EXPECT_EQ(rows[0].comm_exposed_ms, 0.25);
  EXPECT_THROW(rows_of_json("{}"), Error);
  EXPECT_EQ(row_name(row), "2 x 4x2");
}

BenchRow row_with_passes() {
  BenchRow row = cpu_row(1, 1);
  row.global_batch = 100;
  row.examples_per_second = 5000;
  row.step_ms = 20;
  row.of_peak = 1.2512;
  row.peak_gflops = 100;
  row.limits = {.threads = 1,
                .peak_gflops = 100,
                .levels = {{.name = "L1", .bytes = 48U << 10, .read_gbps = 400, .update_gbps = 500},
                           {.name = "memory", .read_gbps = 20, .update_gbps = 18}}};
  row.passes = {{.name = "conv forward",
                 .ms = 15,
                 .work = {.operations = 7.5e8, .bytes = 2048, .set = 1024},
                 .bound = {.ms = 7.5, .by = "fma", .level = "L1"}},
                {.name = "update",
                 .ms = 1,
                 .work = {.bytes = 5e6, .set = 4e6},
                 .bound = {.ms = 0.5, .by = "memory", .level = "memory"}}};
  return row;
}

TEST(BenchReport, TheShareOfThePeakHasAColumn) {
  BenchRow gpu = row_with_passes();
  gpu.of_peak.reset();
  const std::string table = bench_table({row_with_passes(), gpu}, BenchData::kSynthetic);
  EXPECT_THAT(table, HasSubstr("  eff  of_peak  step_ms"));
  EXPECT_THAT(table, HasSubstr("  1.00     1.25    20.00"));
  EXPECT_THAT(table, HasSubstr("  1.00        -    20.00")) << "none is known";
  const std::string csv = bench_csv({row_with_passes(), gpu});
  EXPECT_THAT(csv, HasSubstr(",loader_examples_per_second,of_peak\n"));
  EXPECT_THAT(csv, HasSubstr(",1.251\n"));
}

TEST(BenchReport, FitsTheTableToTheTerminalAboveTheVerdicts) {
  BenchRow row = row_with_passes();
  row.layers = {{.name = "conv",
                 .implementation = "forward direct 3x3 1ch pool AVX-512 nhwc; weights direct",
                 .forward_ms = 15,
                 .forward_gflops = 50}};
  const std::string verdict = "1x1 batch 100: compute-bound: ";
  EXPECT_THAT(bench_table({row}, BenchData::kSynthetic), HasSubstr("\n\n" + verdict));
  for (const std::size_t columns : {40U, 80U, 200U})
    for (const std::string& text : {bench_table({row, row}, BenchData::kSynthetic, columns), layer_table(row, columns),
                                    bounds_table(row, columns)}) {
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), columns) << text;
    }
}

TEST(BenchReport, ReadsBackTheShareOfThePeak) {
  BenchRow gpu = cpu_row(1, 1);
  const auto rows = rows_of_json(bench_json({row_with_passes(), gpu}, "c.yaml", BenchData::kSynthetic));
  EXPECT_EQ(rows[0].of_peak, 1.2512);
  EXPECT_EQ(rows[0].peak_gflops, 100);
  EXPECT_EQ(rows[1].of_peak, std::nullopt);
}

TEST(BenchReport, WritesPassesToTheFile) {
  const std::string text = bench_json({row_with_passes()}, "c.yaml", BenchData::kSynthetic);
  for (const char* part : {"\"bound_by\": \"fma\"", "\"bound_ms\": 8.0", "\"limit_examples_per_second\": 12500.0",
                           "\"working_set\": 1024.0", "\"read_gbps\": 400.0", "\"bytes\": null"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(BoundsTable, ShowsEveryPassAndTheNetworksOwnLimit) {
  EXPECT_EQ(bounds_table(cpu_row(1, 1)), "");
  EXPECT_EQ(bounds_table(row_with_passes()),
            "bounds of replica 0; 1 thread at once reach 100 GFLOP/s, L1 48.0 KiB 500 GB/s, memory 20.0 GB/s\n"
            "pass              ms  bound ms  x bound  by       MFLOP    bytes  works on  fits\n"
            "conv forward  15.000     7.500     2.00  fma     750.00  2.0 KiB   1.0 KiB  L1\n"
            "update         1.000     0.500     2.00  memory    0.00  4.8 MiB   3.8 MiB  memory\n"
            "sum           16.000     8.000\n"
            "the network's own limit is 12,500 samples/s; 5,000 are reached, 0.40 of it\n");
}

TEST(BoundsTable, ReportsUnknownCaches) {
  EXPECT_THAT(levels_text({}), HasSubstr("does not report the sizes of the caches"));
}

TEST(BenchReport, ReadsABaselineWithoutAShareOfThePeak) {
  const std::string path = (std::filesystem::temp_directory_path() / ("old-" + std::to_string(getpid()))).string();
  std::ofstream(path) << R"({"rows": [{"devices": "1x1", "global_batch": 100, "examples_per_second": 6000.0}]})";
  EXPECT_EQ(regressions(path, {row_with_passes()}, 0.03).size(), 1U);
  EXPECT_TRUE(regressions(path, {row_with_passes()}, 0.2).empty());
  std::filesystem::remove(path);
}

TEST(BenchReport, RejectsAnInvalidBaseline) {
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
}  // namespace dptrain::bench
