#pragma once

#include <cstdint>
#include <vector>

namespace dptrain::picture {

/// A picture of bytes, RGB, row by row. A value.
struct RgbImage {
  std::int64_t height = 0, width = 0;
  std::vector<std::uint8_t> rgb;

  RgbImage(std::int64_t h, std::int64_t w, std::uint8_t value = 255)
      : height(h), width(w), rgb(static_cast<std::size_t>(h * w * 3), value) {}
};

/// The bytes of a PNG file. Throws Error{kMemory}.
std::vector<std::uint8_t> encode_png(const RgbImage& picture);

}  // namespace dptrain::picture
