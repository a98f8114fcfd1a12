#pragma once

// Converts a list of transforms to a program with which a device transforms its own batches (kernels/pixel_program.h).
// Results equal those of the Pipeline up to float rounding. Any thread.

#include <optional>
#include <vector>

#include "config/typed.h"
#include "core/shape.h"
#include "kernels/pixel_program.h"

namespace dptrain::data {

/// nullopt if a transform has no such form, or for too many transforms or channels. `sample`: shape of the source's
/// samples, which the transforms must fit.
std::optional<kernels::PixelProgram> pixel_program(const std::vector<config::Typed>& transforms, const Shape& sample,
                                                   std::uint64_t seed);

}  // namespace dptrain::data
