// Measures the rows per second of data::table::read(), as a data set uses it.
//
//   dptrain_bench_table THREADS ROUNDS FILE...
//
// Prints seconds and rows per second of each round, the detected types, and the used memory. The first round, which is
// not counted, fills the page cache.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "core/format.h"
#include "core/text.h"
#include "data/table/reader.h"
#include "data/table/sniffer.h"

namespace {

using namespace dptrain;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// CPU time of all threads so far, which compares readers on a busy machine.
double cpu_seconds() {
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Sums of labels, categories and numbers, which compare readers.
std::string sums(const data::table::Table& table) {
  const auto& columns = table.schema().columns;
  std::vector<double> sum(static_cast<std::size_t>(table.cells()));
  std::vector<data::table::ColumnType> types;
  for (std::size_t c = 0; c < columns.size(); ++c)
    if (table.cell_of(static_cast<int>(c)) >= 0) types.push_back(columns[c].type);
  for (std::int64_t row = 0; row < table.rows(); ++row)
    for (std::size_t i = 0; i < types.size(); ++i)
      sum[i] += types[i] == data::table::ColumnType::kNumber ? static_cast<double>(table.row(row)[i].number)
                                                             : table.row(row)[i].code;
  std::string line;
  for (const double value : sum) line += fmt::format(" {:.6g}", value);
  return line;
}

void run(int threads, int rounds, const std::vector<std::string>& files) {
  const auto start = std::chrono::steady_clock::now();
  const data::table::SniffResult found = data::table::sniff(files, {});
  fmt::print("look: {:.1f} ms, {} rows;", 1e3 * seconds_since(start), found.rows);
  for (const data::table::Column& column : found.schema.columns)
    fmt::print(" {}={}", column.name, type_name(column.type));
  fmt::print("\n");
  std::vector<double> times;
  for (int round = 0; round <= rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    const double cpu_begin = cpu_seconds();
    const data::table::Table table = data::table::read(files, found.schema, {.threads = threads});
    const double seconds = seconds_since(begin), cpu = cpu_seconds() - cpu_begin;
    if (round == 0)
      fmt::print("{} rows, {} held; sums:{}\n", table.rows(), human_bytes(static_cast<std::uint64_t>(table.bytes())),
                 sums(table));
    else
      times.push_back(static_cast<double>(table.rows()) / seconds);
    fmt::print("{} {:.3f} s, {:.3f} s of CPU, {:.2f} million rows/s\n", round == 0 ? "warm-up:" : "round:", seconds,
               cpu, static_cast<double>(table.rows()) / seconds / 1e6);
  }
  std::sort(times.begin(), times.end());
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("median {:.2f} million rows/s on {} threads, peak memory {}\n", times[times.size() / 2] / 1e6, threads,
             human_bytes(static_cast<std::uint64_t>(usage.ru_maxrss) << 10));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: dptrain_bench_table THREADS ROUNDS FILE...\n");
    return 2;
  }
  try {
    run(std::atoi(argv[1]), std::max(1, std::atoi(argv[2])), {argv + 3, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
