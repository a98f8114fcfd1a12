#pragma once

// What a test needs to write an op of the emulated GPU with a kernel of its own, as src/backend/gpu and kernels/cuda
// do for both kinds of GPU. Stands in front of their headers.

#ifndef DPTRAIN_BACKEND
#define DPTRAIN_BACKEND emu
#endif

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/lanes.h"
