// dptrain and its tests on a GPU host in one executable, which keeps the bundle small. The executable's name selects
// the program:
//
//   dptrain ...                          the product
//   dptrain_gpu_tests [gtest's flags]    the tests of backend, runtime and distributed, and of CUDA
//   dptrain_gpu_tests plan-check ...     tests/plans/plan_check.cpp

#include <gtest/gtest.h>

#include <filesystem>
#include <string_view>

#include "gpu_bundle/programs.h"

int main(int argc, char** argv) {
  if (std::filesystem::path(argv[0]).filename() != "dptrain_gpu_tests") return dptrain_main(argc, argv);
  if (argc > 1 && argv[1] == std::string_view("plan-check")) return plan_check_main(argc - 1, argv + 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
