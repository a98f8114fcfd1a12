#include "gpu_bundle/programs.h"

#define main dptrain_main
#include "cli/main.cpp"
