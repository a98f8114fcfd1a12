// In place of plan_check_cuda.cpp without CUDA.

#include <cstdio>

#include "gpu_bundle/programs.h"

int plan_check_main(int, char**) {
  std::printf("SKIPPED: this build has no CUDA\n");
  return 77;
}
