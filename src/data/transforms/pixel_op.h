#pragma once

// What several transforms write into a device's program (kernels/pixel_program.h).

#include <cstdint>
#include <vector>

#include "data/images/finish.h"
#include "kernels/pixel_program.h"

namespace dptrain::data {

/// x scale[c] + offset[c]; false where the program has no room for so many channels, or the map turns their order.
bool write_affine(const ChannelMap& map, kernels::PixelOp& op);
void write_crop(std::int64_t height, std::int64_t width, std::int64_t padding, bool random, kernels::PixelOp& op);
/// The drawn factor's range, and the values that the result is clipped to.
void write_range(double low, double high, const std::vector<double>& value_range, kernels::PixelOp& op);

}  // namespace dptrain::data
