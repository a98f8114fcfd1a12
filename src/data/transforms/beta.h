#pragma once

#include "core/random.h"

namespace dptrain::data {

/// Draws from Beta(alpha, alpha), alpha > 0: x / (x + y) of two Gamma(alpha) draws by the method of Marsaglia and Tsang
/// ("A Simple Method for Generating Gamma Variables", 2000), in logarithms, so that a small alpha loses nothing.
double draw_beta(RandomStream& stream, double alpha);

}  // namespace dptrain::data
