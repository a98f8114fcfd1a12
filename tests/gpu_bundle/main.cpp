// dptrain and its tests on a GPU host in one executable, which keeps the bundle small. The executable's name selects
// the program:
//
//   dptrain ...                          the product
//   dptrain_gpu_tests [gtest's flags]    the tests of backend, runtime and distributed, of CUDA, and of its kernels
//   dptrain_gpu_tests plan-check ...     tests/plans/plan_check.cpp

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "backend/gpu_facts.h"
#include "gpu_bundle/programs.h"

namespace {

/// Excludes the tests of tests/kernels_cuda, which launch kernels of CUDA, where there is no GPU.
void exclude_kernel_tests() {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  std::string filter = GTEST_FLAG_GET(filter);
  int excluded = 0;
  for (int s = 0; s < all.total_test_suite_count(); ++s)
    for (int i = 0; i < all.GetTestSuite(s)->total_test_count(); ++i) {
      const testing::TestInfo& test = *all.GetTestSuite(s)->GetTestInfo(i);
      if (std::string_view(test.file()).find("kernels_cuda/") == std::string_view::npos) continue;
      filter += filter.find('-') == std::string::npos ? "-" : ":";
      filter += std::string(test.test_suite_name()) + "." + test.name();
      ++excluded;
    }
  GTEST_FLAG_SET(filter, filter);
  std::printf("no GPU: %d tests of kernels are left out\n", excluded);
}

}  // namespace

int main(int argc, char** argv) {
  if (std::filesystem::path(argv[0]).filename() != "dptrain_gpu_tests") return dptrain_main(argc, argv);
  if (argc > 1 && argv[1] == std::string_view("plan-check")) return plan_check_main(argc - 1, argv + 1);
  testing::InitGoogleTest(&argc, argv);
  const bool only_lists = GTEST_FLAG_GET(list_tests);
  if (!only_lists && dptrain::backend::built_in_cuda() != 0 && !dptrain::backend::why_no_gpu().empty())
    exclude_kernel_tests();
  return RUN_ALL_TESTS();
}
