#include "gpu_bundle/programs.h"

#define main plan_check_main
#include "plans/plan_check.cpp"
