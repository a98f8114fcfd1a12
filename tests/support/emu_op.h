#pragma once

// What a test needs to write an op of the emulated GPU with a kernel of its own, as src/backend/gpu and kernels/cuda
// do for both kinds of GPU. Stands in front of their headers.

#ifndef DPTRAIN_GPU
#define DPTRAIN_GPU emu
#endif

#include "backend/gpu/gpu_op.h"
#include "kernels/cuda/lanes.h"
