#pragma once

// For tests with an op of the emulated GPU that has its own kernel, written as in src/backend/gpu and kernels/cuda.
// Include it before their headers.

#ifndef DPTRAIN_BACKEND
#define DPTRAIN_BACKEND emu
#endif

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/lanes.h"
