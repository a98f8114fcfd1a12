#pragma once

// A list of transforms as a program for a device that makes its batches itself (kernels/pixel_program.h). Its results
// are those of the Pipeline of the same transforms, to a float's rounding. Any thread.

#include <optional>
#include <vector>

#include "config/typed.h"
#include "core/shape.h"
#include "kernels/pixel_program.h"

namespace dptrain::data {

/// Nothing where a transform has no such form, or where there are too many of them or too many channels. `sample`: as
/// samples come; the transforms have been checked against it.
std::optional<kernels::PixelProgram> pixel_program(const std::vector<config::Typed>& transforms, const Shape& sample,
                                                   std::uint64_t seed);

}  // namespace dptrain::data
