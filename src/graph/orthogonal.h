#pragma once

// Orthogonal initialisation (Saxe, McClelland, Ganguli: "Exact solutions to the nonlinear dynamics of learning in deep
// linear neural networks", 2013), as Keras does it.

#include <span>

#include "core/random.h"
#include "core/shape.h"

namespace dptrain::graph {

/// Fills `values` (row-major, of that shape, seen as [product of all axes but the last, last]) so that the rows or the
/// columns, whichever are fewer, are orthogonal and of length `gain`.
void fill_orthogonal(std::span<float> values, const Shape& shape, double gain, RandomStream& stream);

}  // namespace dptrain::graph
