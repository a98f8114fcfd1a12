// main() of the test programs. DPTRAIN_SHARD=2/5 runs the second of five parts, which take about the same time
// according to tests/times.tsv; an unlisted case counts as short. With a filter, the first part runs all selected
// cases.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/sanitizer.h"
#include "support/test_data.h"

namespace {

constexpr double kShortSeconds = dptrain::test::kThreadSanitizer ? 0.05 : 0.01;

/// "kernels" for ".../dptrain_test_kernels".
std::string program_name(const std::string& path) {
  const std::string file = path.substr(path.find_last_of('/') + 1), prefix = "dptrain_test_";
  return file.starts_with(prefix) ? file.substr(prefix.size()) : file;
}

/// Seconds of each listed case of a program in this kind of build.
std::map<std::string, double> listed_seconds(const std::string& program) {
  std::map<std::string, double> seconds;
  std::ifstream in(dptrain::test::test_data("times.tsv"));
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string test, name;
    double release = 0, asan = 0, tsan = 0;
    if (fields >> test >> name >> release >> asan >> tsan && test == program)
      seconds[name] = dptrain::test::kThreadSanitizer ? tsan : dptrain::test::kAddressSanitizer ? asan : release;
  }
  return seconds;
}

/// All cases, the longest first.
std::vector<std::pair<double, std::string>> cases_by_seconds(const std::string& program) {
  const std::map<std::string, double> listed = listed_seconds(program);
  std::vector<std::pair<double, std::string>> cases;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int i = 0; i < suite.total_test_count(); ++i) {
      const std::string name = std::string(suite.name()) + "." + suite.GetTestInfo(i)->name();
      const auto found = listed.find(name);
      cases.emplace_back(found == listed.end() ? kShortSeconds : found->second, name);
    }
  }
  std::ranges::stable_sort(cases, std::ranges::greater{}, [](const auto& one) { return one.first; });
  return cases;
}

/// The filter for part `shard` of `shards`: each case is assigned to the part with the least time so far.
std::string filter_of(const std::string& program, std::size_t shard, std::size_t shards) {
  std::vector<double> seconds(shards, 0.0);
  std::string filter;
  for (const auto& [duration, name] : cases_by_seconds(program)) {
    const auto least = std::ranges::min_element(seconds);
    *least += duration;
    if (static_cast<std::size_t>(least - seconds.begin()) == shard - 1) filter += name + ":";
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  const bool in_death_test = !GTEST_FLAG_GET(internal_run_death_test).empty();  // a child with the filter of its case
  if (const char* part = std::getenv("DPTRAIN_SHARD"); part != nullptr && !in_death_test) {
    std::size_t shard = 0, shards = 0;
    if (std::sscanf(part, "%zu/%zu", &shard, &shards) != 2 || shard < 1 || shard > shards) {
      std::fprintf(stderr, "DPTRAIN_SHARD is '%s'; expected a part and their number, as 2/5\n", part);
      return 2;
    }
    const bool all = GTEST_FLAG_GET(filter) == "*";
    if (!all && shard > 1) return 0;
    if (all && shards > 1) GTEST_FLAG_SET(filter, filter_of(program_name(argv[0]), shard, shards));
  }
  return RUN_ALL_TESTS();
}
