#pragma once

#include <cstdint>
#include <vector>

namespace dptrain::plot {

/// A picture of bytes, RGB, row by row. A value.
struct RgbImage {
  std::int64_t height = 0, width = 0;
  std::vector<std::uint8_t> rgb;

  RgbImage(std::int64_t h, std::int64_t w, std::uint8_t value = 255)
      : height(h), width(w), rgb(static_cast<std::size_t>(h * w * 3), value) {}
};

/// [H, W, C] of 1, 3 or 4 channels (the first three are shown); 2 and others by the first channel alone. Values from
/// `low` to `high` become 0 to 255.
RgbImage image_of(const float* values, std::int64_t height, std::int64_t width, std::int64_t channels, float low,
                  float high);

/// At most `most` pixels high and wide, by means over the pixels that one replaces; smaller ones as they are.
RgbImage shrunk(const RgbImage& image, std::int64_t most);

/// So many times as high and wide.
RgbImage enlarged(const RgbImage& image, std::int64_t factor);

/// In rows of so many, `gap` white pixels between them; each has the room of the largest. At least one image.
RgbImage tiled(const std::vector<RgbImage>& images, std::int64_t columns, std::int64_t gap);

/// The bytes of a PNG file. Throws Error{kMemory}.
std::vector<std::uint8_t> encode_png(const RgbImage& picture);

}  // namespace dptrain::plot
