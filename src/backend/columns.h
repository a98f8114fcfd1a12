#pragma once

// What a Concatenate moves: everything before its axis is rows, the axis and what follows is one run of elements per
// input.

#include <cstdint>
#include <vector>

#include "backend/op.h"
#include "nn/merging.h"

namespace dptrain::backend {

struct Columns {
  Columns(const nn::ConcatenateSpec& spec, const OpContext& context) {
    const Shape& out = context.output();
    // Keras counts the batch as axis 0.
    const int axis = spec.axis < 0 ? out.rank() + spec.axis : spec.axis - 1;
    for (int d = 0; d < axis; ++d) outer *= out[d];
    for (std::size_t i = 0; i < context.step.inputs.size(); ++i) widths.push_back(context.input(i).elements() / outer);
    total = out.elements() / outer;
  }

  std::int64_t outer = 1;            ///< rows of one sample
  std::int64_t total = 0;            ///< elements of a row of the output
  std::vector<std::int64_t> widths;  ///< of a row of each input
};

}  // namespace dptrain::backend
