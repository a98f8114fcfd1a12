#pragma once

// How far a convolution pass is from its equation in double: what `bench --kernels` prints beside the time of each way
// to compute it. Runs on the calling thread alone.

#include "backend/cpu/conv/conv_pass.h"

namespace dptrain::backend::cpu {

/// After a run of a pass on `t`: ||result - exact|| / ||exact|| over some hundreds of elements spread over y, dx or
/// dweights (dbias is left out), exact from the same float inputs with every sum in double. Any shape.
double conv_error(ConvPassKind kind, const ConvShape& shape, const ConvTensors& t);

}  // namespace dptrain::backend::cpu
