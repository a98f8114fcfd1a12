#pragma once

// Relative error of a convolution pass against its equation in double. `bench --kernels` prints it with the time of
// each algorithm. Runs on the calling thread alone.

#include "backend/cpu/conv/conv_pass.h"

namespace dptrain::backend::cpu {

/// After a run of a pass on `t`: ||result - exact|| / ||exact|| over some hundreds of elements of y, dx or dweights.
/// dbias is not checked. `exact` uses the same float inputs, with every sum in double. Any shape.
double conv_error(ConvPassKind kind, const ConvShape& shape, const ConvTensors& t);

}  // namespace dptrain::backend::cpu
